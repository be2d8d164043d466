#include "runtimes/namespaces/cgroups.hpp"

#include "runtimes/cannot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

constexpr const char* our_folder = "chalk";

std::string read_all(const fs::path& file) {
    std::ifstream in(file);
    return {std::istreambuf_iterator<char>(in), {}};
}

/// 0 or an error number.
int write_value(const fs::path& file, std::string_view value) {
    const unique_fd fd(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), value.data(), value.size()) == static_cast<ssize_t>(value.size()) ? 0 : errno;
}

bool has_word(std::string_view text, std::string_view word) {
    std::istringstream words{std::string(text)};
    return std::find(std::istream_iterator<std::string>(words), {}, word) != std::istream_iterator<std::string>();
}

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

result<void> make_group(const fs::path& group) {
    if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) {
        return cannot("make the cgroup", group, errno);
    }
    return {};
}

/// The last owner that ends takes the folder of all owners with it, perhaps between our two calls.
result<void> make_owners_group(const fs::path& ours, const fs::path& owners) {
    constexpr int tries = 100;
    for (int i = 0; i < tries; ++i) {
        if (auto done = make_group(ours); !done) {
            return done;
        }
        if (::mkdir(owners.c_str(), 0755) == 0 || errno == EEXIST) {
            return {};
        }
        if (errno != ENOENT) {
            break;
        }
    }
    return cannot("make the cgroup", owners, errno);
}

result<void> set(const fs::path& file, std::uint64_t value) {
    if (const int error = write_value(file, std::to_string(value)); error != 0) {
        return cannot("set the limit", file, error);
    }
    return {};
}

/// Version 2: children get the controllers. Written one by one: one that is on already is no error.
int enable_controllers(const fs::path& group, const cgroup_hierarchy& which) {
    std::string wanted = which.memory ? "+memory" : "";
    wanted += which.pids ? (wanted.empty() ? "+pids" : " +pids") : "";
    return write_value(group / "cgroup.subtree_control", wanted);
}

result<void> set_limits(const cgroup_hierarchy& which, const fs::path& group, bytes memory, std::uint32_t processes) {
    if (which.memory) {
        if (auto done = set(group / (which.v2 ? "memory.max" : "memory.limit_in_bytes"), memory.count); !done) {
            return done;
        }
        // Swap would let a sandbox use more than it was given; kernels without swap accounting have no such file.
        const fs::path swap = group / (which.v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
        const int error = write_value(swap, which.v2 ? "0" : std::to_string(memory.count));
        if (error != 0 && error != ENOENT && error != EACCES && error != EOPNOTSUPP) {
            return cannot("set the limit", swap, error);
        }
    }
    return which.pids ? set(group / "pids.max", processes) : result<void>{};
}

/// Can we make groups with these controllers below `base`? Only looks.
bool usable(const cgroup_candidates& which, const fs::path& base) {
    if (::access(base.c_str(), W_OK) != 0 || ::access((base / "cgroup.procs").c_str(), W_OK) != 0) {
        return false;
    }
    if (!which.v2) {
        return true;
    }
    const std::string on = read_all(base / "cgroup.subtree_control");
    if ((!which.memory || has_word(on, "memory")) && (!which.pids || has_word(on, "pids"))) {
        return true;
    }
    // A group that holds processes cannot pass controllers on; the root can. It has no cgroup.type.
    std::error_code error;
    return !fs::exists(base / "cgroup.type", error) || read_all(base / "cgroup.procs").empty();
}

std::uint64_t oom_kills(const fs::path& file) {
    std::istringstream in(read_all(file));
    std::string word;
    while (in >> word) {
        std::uint64_t count = 0;
        if (word == "oom_kill" && in >> count) {
            return count;
        }
    }
    return 0;
}

/// A group whose last process was just reaped may be busy for a moment.
int remove_group(const fs::path& group) {
    constexpr int tries = 200;
    for (int i = 0; i < tries; ++i) {
        if (::rmdir(group.c_str()) == 0 || errno == ENOENT) {
            return 0;
        }
        if (errno != EBUSY) {
            return errno;
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
    return EBUSY;
}

int remove_tree(const fs::path& group) {
    std::error_code error;
    for (fs::directory_iterator at(group, error), end; !error && at != end; at.increment(error)) {
        if (at->is_directory(error) && !at->is_symlink(error)) {
            if (const int failed = remove_tree(at->path()); failed != 0) {
                return failed;
            }
        }
    }
    return remove_group(group);
}

void kill_all_in(const fs::path& group) {
    std::error_code error;
    for (fs::directory_iterator at(group, error), end; !error && at != end; at.increment(error)) {
        if (at->is_directory(error) && !at->is_symlink(error)) {
            kill_all_in(at->path());
        }
    }
    std::istringstream pids(read_all(group / "cgroup.procs"));
    for (pid_t pid = 0; pids >> pid;) {
        if (pid > 0) {
            ::kill(pid, SIGKILL);
        }
    }
}

} // namespace

std::vector<cgroup_candidates> find_hierarchies(std::string_view own_groups, std::string_view mounts) {
    std::vector<cgroup_candidates> found;
    for (const std::string& line : split(std::string(mounts), '\n')) {
        // 36 35 98:0 /root /mount/point options ... - type source super,options (proc_pid_mountinfo(5))
        const auto fields = split(line, ' ');
        const auto dash = std::find(fields.begin(), fields.end(), "-");
        if (fields.size() < 5 || fields.end() - dash < 4) {
            continue;
        }
        const std::string& type = dash[1];
        const auto options = split(dash[3], ',');
        const auto has = [&](const char* name) {
            return std::find(options.begin(), options.end(), name) != options.end();
        };
        cgroup_candidates one;
        one.v2 = type == "cgroup2";
        one.memory = type == "cgroup" && has("memory");
        one.pids = type == "cgroup" && has("pids");
        if (!one.v2 && !one.memory && !one.pids) {
            continue;
        }
        const fs::path mount = fields[4];
        for (const std::string& group : split(std::string(own_groups), '\n')) {
            // 4:memory:/path, or 0::/path
            const std::size_t first = group.find(':');
            const std::size_t second = first == std::string::npos ? first : group.find(':', first + 1);
            if (second == std::string::npos) {
                continue;
            }
            const auto controllers = split(group.substr(first + 1, second - first - 1), ',');
            const auto is = [&](const char* name) {
                return std::find(controllers.begin(), controllers.end(), name) != controllers.end();
            };
            if (one.v2 ? !controllers.empty() : !((one.memory && is("memory")) || (one.pids && is("pids")))) {
                continue;
            }
            for (fs::path at = fs::path(group.substr(second + 1)).relative_path();; at = at.parent_path()) {
                one.bases.push_back(at.empty() ? mount : mount / at);
                if (at.empty()) {
                    break;
                }
            }
            break;
        }
        found.push_back(std::move(one));
    }
    return found;
}

std::function<bool()> sandbox_cgroup::memory_probe() const {
    return [files = memory_events_] {
        return std::any_of(files.begin(), files.end(), [](const fs::path& file) { return oom_kills(file) > 0; });
    };
}

void sandbox_cgroup::close_descriptors() {
    student_procs_.clear();
    join_.clear();
    calls_folder_.reset();
    into_.reset();
}

result<void> sandbox_cgroup::remove() {
    result<void> done;
    // The last first: what we made ourselves needs no listing, which costs more than all else here.
    for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
        if (::rmdir(group->c_str()) == 0) {
            continue;
        }
        if (const int error = remove_tree(*group); error != 0 && done) {
            done = cannot("remove the cgroup", *group, error);
        }
    }
    if (done) {
        groups_.clear();
    }
    return done;
}

cgroups::cgroups(std::string owner) : owner_(std::move(owner)) {
    bool memory = false;
    bool pids = false;
    for (const cgroup_candidates& which :
         find_hierarchies(read_all("/proc/self/cgroup"), read_all("/proc/self/mountinfo"))) {
        cgroup_candidates wanted = which;
        if (which.v2 && !which.bases.empty()) {
            const std::string controllers = read_all(which.bases.back() / "cgroup.controllers");
            wanted.memory = has_word(controllers, "memory");
            wanted.pids = has_word(controllers, "pids");
        }
        wanted.memory = wanted.memory && !memory;
        wanted.pids = wanted.pids && !pids;
        if (!wanted.memory && !wanted.pids) {
            continue;
        }
        all_bases_.insert(all_bases_.end(), which.bases.begin(), which.bases.end());
        const auto base = std::find_if(which.bases.begin(), which.bases.end(),
                                       [&](const fs::path& one) { return usable(wanted, one); });
        if (base != which.bases.end()) {
            hierarchies_.push_back({which.v2, wanted.memory, wanted.pids, *base});
            memory = memory || wanted.memory;
            pids = pids || wanted.pids;
        }
    }
}

result<std::optional<sandbox_cgroup>> cgroups::make(const run_id& id, const sandbox_limits& limits,
                                                    uid_t delegate_to) const {
    if (hierarchies_.empty()) {
        return std::optional<sandbox_cgroup>();
    }
    sandbox_cgroup made;
    const auto build = [&](const cgroup_hierarchy& which) -> result<void> {
        const fs::path ours = which.base / our_folder;
        const fs::path owners = ours / owner_;
        const fs::path run = owners / id.str();
        const fs::path student = run / "student";
        if (::access(owners.c_str(), F_OK) != 0) {
            if (auto done = make_owners_group(ours, owners); !done) {
                return done;
            }
            if (which.memory && !which.v2) {
                (void)write_value(owners / "memory.use_hierarchy", "1"); // kernels before 5.11; always on since
            }
            if (which.v2) {
                for (const fs::path& group : {which.base, ours, owners}) {
                    if (const int error = enable_controllers(group, which); error != 0) {
                        return cannot("pass controllers on in", group, error);
                    }
                }
            }
        }
        if (::mkdir(run.c_str(), 0755) != 0) {
            return cannot("make the cgroup", run, errno);
        }
        made.groups_.push_back(run);
        const auto make = [&](const fs::path& group) {
            made.groups_.push_back(group);
            return make_group(group);
        };
        if (auto done = set_limits(which, run, limits.memory, limits.processes); !done) {
            return done;
        }
        if (which.v2) {
            if (const int error = enable_controllers(run, which); error != 0) {
                return cannot("pass controllers on in", run, error);
            }
        }
        if (auto done = make(student); !done) {
            return done;
        }
        if (auto done = set_limits(which, student, limits.student_memory, limits.student_processes); !done) {
            return done;
        }
        if (which.memory) {
            for (const fs::path& group : {run, student}) {
                made.memory_events_.push_back(group / (which.v2 ? "memory.events" : "memory.oom_control"));
            }
        }
        // Version 1: "tasks" moves one thread without stopping the world, "cgroup.procs" waits out a grace period.
        const char* members = which.v2 ? "cgroup.procs" : "tasks";
        made.student_procs_.emplace_back(::open((student / members).c_str(), O_WRONLY | O_CLOEXEC));
        if (!made.student_procs_.back()) {
            return cannot("open", student / members, errno);
        }
        if (which.v2) {
            const fs::path harness = run / "harness";
            if (auto done = make(harness); !done) {
                return done;
            }
            made.into_.reset(::open(harness.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            made.v2_ = true;
            // The harness moves the student's processes between the student's group and its calls: for that it needs
            // the group above both. The limits beside it stay the host's.
            if (::chown((student / "cgroup.procs").c_str(), delegate_to, delegate_to) != 0 && errno != EPERM) {
                return cannot("hand over", student / "cgroup.procs", errno);
            }
        } else {
            made.join_.emplace_back(::open((run / members).c_str(), O_WRONLY | O_CLOEXEC));
            if (!made.join_.back()) {
                return cannot("open", run / members, errno);
            }
        }
        if (which.v2 || which.pids) {
            const fs::path calls = student / "calls";
            if (auto done = make(calls); !done) {
                return done;
            }
            bool handed_over = true;
            for (const fs::path& handed : {calls, calls / "cgroup.procs"}) {
                if (::chown(handed.c_str(), delegate_to, delegate_to) != 0) {
                    if (errno != EPERM) {
                        return cannot("hand over", handed, errno);
                    }
                    // Without root we cannot give it away: then there is no group per call, and the harness finds a
                    // call's processes by their parents.
                    handed_over = false;
                }
            }
            if (handed_over) {
                made.calls_folder_.reset(::open(calls.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
                if (!made.calls_folder_) {
                    return cannot("open", calls, errno);
                }
            }
        }
        return {};
    };
    for (const cgroup_hierarchy& which : hierarchies_) {
        if (auto done = build(which); !done) {
            (void)made.remove(); // the failure that counts is the first
            return done.error();
        }
    }
    return std::optional<sandbox_cgroup>(std::move(made));
}

std::string cgroups::note() const {
    std::string parts;
    for (const cgroup_hierarchy& which : hierarchies_) {
        for (const auto& [on, name] : {std::pair(which.memory, "memory"), std::pair(which.pids, "pids")}) {
            if (on) {
                parts += fmt::format("{}{}", parts.empty() ? "" : ", ", name);
            }
        }
    }
    return parts.empty() ? std::string("no cgroups")
                         : fmt::format("cgroup v{} ({})", hierarchies_.front().v2 ? 2 : 1, parts);
}

std::vector<std::string> cgroups::owner_folders() const {
    std::vector<std::string> folders;
    for (const cgroup_hierarchy& which : hierarchies_) {
        folders.push_back((which.base / our_folder / owner_).string());
    }
    return folders;
}

std::vector<fs::path> cgroups::all_owners_folders() const {
    std::vector<fs::path> folders;
    for (const fs::path& base : all_bases_) {
        folders.push_back(base / our_folder);
    }
    return folders;
}

result<void> kill_and_remove(const fs::path& folder) {
    constexpr int rounds = 50; // a process that is being born escapes one round, not all
    for (int i = 0; i < rounds; ++i) {
        kill_all_in(folder);
        if (i > 0) {
            std::this_thread::sleep_for(milliseconds(10));
        }
        std::error_code error;
        bool empty = read_all(folder / "cgroup.procs").empty();
        for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
            empty = empty && (at->path().filename() != "cgroup.procs" || read_all(at->path()).empty());
        }
        if (empty) {
            break;
        }
    }
    if (const int error = remove_tree(folder); error != 0) {
        return cannot("remove the cgroup", folder, error);
    }
    return {};
}

} // namespace chalk::namespaces
