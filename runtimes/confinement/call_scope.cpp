#include "runtimes/confinement/call_scope.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::confinement {
namespace {

/// The whole of a small control file; empty when it cannot be read.
std::string read_control(int folder, const char* name) {
    const unique_fd file(::openat(folder, name, O_RDONLY | O_CLOEXEC));
    std::string out;
    char part[4096];
    while (file) {
        const auto n = ::read(file.get(), part, sizeof part);
        if (n <= 0) {
            break;
        }
        out.append(part, static_cast<std::size_t>(n));
    }
    return out;
}

bool write_control(int folder, const char* name, std::string_view value) {
    const unique_fd file(::openat(folder, name, O_WRONLY | O_CLOEXEC));
    return file && ::write(file.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size());
}

class group_scope final : public call_scope {
  public:
    group_scope(const student_cgroup& where, std::string name, unique_fd folder, unique_fd procs)
        : where_(where), name_(std::move(name)), folder_(std::move(folder)), procs_(std::move(procs)) {}

    void enter(process::command& what) const override {
        if (!where_.v2) {
            // The other controllers' hierarchies; this call's group is in one of them and comes last.
            what.cgroup_procs = where_.procs;
        }
        what.cgroup_procs.push_back(procs_.get());
    }

    void started(pid_t) override {}

    bool kill_round() override {
        if (where_.v2) {
            const bool none_there = read_control(folder_.get(), "cgroup.procs").empty();
            if (write_control(folder_.get(), "cgroup.kill", "1")) {
                return none_there;
            }
        }
        // v1, or v2 before Linux 5.14: nothing in it may fork any more, so a round leaves nothing new behind. Where the
        // pids controller is missing the rounds go on until none is found.
        static_cast<void>(write_control(folder_.get(), "pids.max", "0"));
        const auto listed = read_control(folder_.get(), "cgroup.procs");
        std::string_view rest = listed;
        bool none = true;
        while (!rest.empty()) {
            pid_t pid = 0;
            const auto parsed = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
            if (pid > 0) {
                ::kill(pid, SIGKILL);
            }
            none = false;
            const auto used = static_cast<std::size_t>(parsed.ptr - rest.data());
            rest.remove_prefix(std::min(rest.size(), used + 1));
        }
        return none;
    }

    bool remove() override {
        return ::unlinkat(where_.calls_folder.value_or(-1), name_.c_str(), AT_REMOVEDIR) == 0 || errno != EBUSY;
    }

    bool memory_exhausted() const override {
        const auto events = where_.v2 ? read_control(folder_.get(), "memory.events") : std::string();
        const auto at = events.find("oom_kill ");
        return at != std::string::npos && events.compare(at + 9, 1, "0") != 0;
    }

  private:
    const student_cgroup where_;
    std::string name_;
    unique_fd folder_;
    unique_fd procs_;
};

class tree_scope final : public call_scope {
  public:
    tree_scope(std::shared_ptr<process_tree> tree, const student_cgroup& where, std::uint64_t number)
        : tree_(std::move(tree)), where_(where), number_(number) {}

    void enter(process::command& what) const override {
        what.cgroup_procs = where_.procs;
        what.environment.push_back(tree_->marker(number_));
    }

    void started(pid_t pid) override { leader_ = pid; }
    bool kill_round() override { return leader_ == -1 || tree_->kill_call(number_, leader_) == 0; }
    bool remove() override { return leader_ == -1 || !tree_->anything_left(number_, leader_); }
    bool memory_exhausted() const override { return false; }

  private:
    std::shared_ptr<process_tree> tree_;
    const student_cgroup where_;
    std::uint64_t number_;
    std::atomic<pid_t> leader_ = -1;
};

} // namespace

result<std::unique_ptr<call_scope>> make_group_scope(const student_cgroup& where, std::uint64_t number) {
    const int calls = where.calls_folder.value_or(-1);
    auto name = fmt::format("call-{}", number);
    if (::mkdirat(calls, name.c_str(), 0755) != 0) {
        return sandbox_failure(fmt::format("cannot make a cgroup for the student's call: {}", std::strerror(errno)));
    }
    unique_fd folder(::openat(calls, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    unique_fd procs(folder ? ::openat(folder.get(), "cgroup.procs", O_WRONLY | O_CLOEXEC) : -1);
    if (!procs) {
        auto why = sandbox_failure(fmt::format("cannot open the call's cgroup: {}", std::strerror(errno)));
        ::unlinkat(calls, name.c_str(), AT_REMOVEDIR);
        return why;
    }
    return std::make_unique<group_scope>(where, std::move(name), std::move(folder), std::move(procs));
}

std::unique_ptr<call_scope> make_tree_scope(std::shared_ptr<process_tree> tree, const student_cgroup& where,
                                            std::uint64_t number) {
    return std::make_unique<tree_scope>(std::move(tree), where, number);
}

} // namespace chalk::confinement
