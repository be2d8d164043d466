#include "runtimes/confinement/process_tree.hpp"

#include "protocol/core/unique_fd.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <random>
#include <string_view>

#include <dirent.h>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>

namespace chalk::confinement {
namespace {

struct process_entry {
    pid_t pid = 0;
    pid_t parent = 0;
    pid_t session = 0;
    char state = '?';
    [[nodiscard]] bool ended() const noexcept { return state == 'Z' || state == 'X'; }
};

std::string read_file(const std::string& path) {
    const unique_fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
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

std::vector<process_entry> all_processes() {
    std::vector<process_entry> out;
    const std::unique_ptr<DIR, int (*)(DIR*)> folder(::opendir("/proc"), ::closedir);
    while (folder != nullptr) {
        const dirent* entry = ::readdir(folder.get());
        if (entry == nullptr) {
            break;
        }
        if (entry->d_name[0] < '1' || entry->d_name[0] > '9') {
            continue;
        }
        const auto stat = read_file(fmt::format("/proc/{}/stat", entry->d_name));
        const auto name_end = stat.rfind(')'); // a program's name may hold anything
        process_entry found;
        int group = 0;
        if (name_end != std::string::npos && std::sscanf(stat.c_str() + name_end + 1, " %c %d %d %d", &found.state,
                                                         &found.parent, &group, &found.session) == 4) {
            found.pid = static_cast<pid_t>(std::stol(entry->d_name));
            out.push_back(found);
        }
    }
    return out;
}

/// Real user of a process, ended ones included.
std::optional<uid_t> user_of(pid_t pid) {
    const auto status = read_file(fmt::format("/proc/{}/status", pid));
    const auto at = status.find("\nUid:");
    unsigned int uid = 0;
    if (at == std::string::npos || std::sscanf(status.c_str() + at + 5, "%u", &uid) != 1) {
        return std::nullopt;
    }
    return uid;
}

/// The whole "CHALK_CALL=..." of a process; empty when it has none.
std::string marker_of(pid_t pid) {
    const auto environment = read_file(fmt::format("/proc/{}/environ", pid));
    std::string_view rest = environment;
    while (!rest.empty()) {
        const auto end = std::min(rest.find('\0'), rest.size());
        if (rest.substr(0, end).starts_with("CHALK_CALL=")) {
            return std::string(rest.substr(0, end));
        }
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return {};
}

bool is_child_of_ours(pid_t pid) {
    return process::own_children_lock().started_here(pid);
}

/// `roots` and what descends from them. All living.
template<class IsRoot>
std::vector<pid_t> with_descendants(const std::vector<process_entry>& all, const IsRoot& is_root) {
    std::unordered_set<pid_t> members;
    for (const auto& p : all) {
        if (is_root(p)) {
            members.insert(p.pid);
        }
    }
    for (bool grew = true; grew;) {
        grew = false;
        for (const auto& p : all) {
            if (members.contains(p.parent) && members.insert(p.pid).second) {
                grew = true;
            }
        }
    }
    std::vector<pid_t> living;
    for (const auto& p : all) {
        if (members.contains(p.pid) && !p.ended()) {
            living.push_back(p.pid);
        }
    }
    return living;
}

std::vector<pid_t> members_of_call(const std::string& marker, pid_t leader) {
    const auto self = ::getpid();
    return with_descendants(all_processes(), [&](const process_entry& p) {
        if (p.pid == self || (p.pid != leader && is_child_of_ours(p.pid))) {
            return false;
        }
        return p.session == leader || (p.parent == self && marker_of(p.pid) == marker);
    });
}

constexpr int most_rounds = 50;

} // namespace

process_tree::process_tree(std::optional<uid_t> student)
    : student_(student), prefix_(fmt::format("CHALK_CALL={:08x}-", std::random_device{}())) {
    // An orphan then comes to us, where it is found, instead of to an init that may be outside.
    ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

std::string process_tree::marker(std::uint64_t number) const {
    return fmt::format("{}{}", prefix_, number);
}

std::size_t process_tree::kill_call(std::uint64_t number, pid_t leader) const {
    const auto own_marker = marker(number);
    std::unordered_set<pid_t> seen;
    for (int round = 0; round < most_rounds; ++round) {
        const auto members = members_of_call(own_marker, leader);
        bool any_new = false;
        for (const auto pid : members) {
            any_new = seen.insert(pid).second || any_new;
            ::kill(pid, SIGKILL);
        }
        if (!any_new) {
            break;
        }
    }
    return seen.size();
}

bool process_tree::anything_left(std::uint64_t number, pid_t leader) const {
    return !members_of_call(marker(number), leader).empty();
}

std::size_t process_tree::kill_everything() const {
    const auto self = ::getpid();
    const auto is_the_students = [&](const process_entry& p) {
        if (p.pid == self) {
            return false;
        }
        const auto found = marker_of(p.pid);
        if (!found.empty()) {
            return found.starts_with(prefix_); // else it is another run's
        }
        return student_ && p.parent == self && !is_child_of_ours(p.pid) && user_of(p.pid) == student_;
    };
    std::unordered_set<pid_t> seen;
    for (int round = 0; round < most_rounds; ++round) {
        const auto members = with_descendants(all_processes(), is_the_students);
        bool any_new = false;
        for (const auto pid : members) {
            any_new = seen.insert(pid).second || any_new;
            ::kill(pid, SIGKILL);
        }
        if (!any_new) {
            break;
        }
    }
    return seen.size();
}

bool adopted_left(uid_t student) {
    const auto self = ::getpid();
    for (const auto& p : all_processes()) {
        if (p.parent == self && user_of(p.pid) == student && !is_child_of_ours(p.pid)) {
            return true;
        }
    }
    return false;
}

void reap_adopted(std::optional<uid_t> student) {
    siginfo_t waiting{};
    if (::waitid(P_ALL, 0, &waiting, WEXITED | WNOHANG | WNOWAIT) != 0 || waiting.si_pid == 0) {
        return; // the usual case, without a look at /proc
    }
    const auto self = ::getpid();
    const auto session = ::getsid(0);
    for (const auto& p : all_processes()) {
        if (p.parent != self || !p.ended()) {
            continue;
        }
        // Children that other code of this process started are not ours to reap: they share its user, or its session.
        if (student ? user_of(p.pid) != student : p.session == session) {
            continue;
        }
        const process::own_children_lock lock;
        if (!lock.started_here(p.pid)) {
            ::waitpid(p.pid, nullptr, WNOHANG);
        }
    }
}

} // namespace chalk::confinement
