#include "runtimes/namespaces/cgroup_removal.hpp"

#include "protocol/core/read_file.hpp"
#include "runtimes/cannot.hpp"

#include <cerrno>
#include <csignal>
#include <sstream>
#include <system_error>
#include <thread>

#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

/// A group whose last process was just reaped may be busy for a moment. It is slept over: version 1 has no file that
/// tells of an empty group, and version 2's (cgroup.events) would be a second way for a wait that hardly ever comes and
/// is over in milliseconds.
int remove_group(const fs::path& group) {
    constexpr int tries = 200;
    constexpr milliseconds between{5};
    for (int i = 0; i < tries; ++i) {
        if (::rmdir(group.c_str()) == 0 || errno == ENOENT) {
            return 0;
        }
        if (errno != EBUSY) {
            return errno;
        }
        std::this_thread::sleep_for(between);
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
    std::istringstream pids(read_or_empty(group / "cgroup.procs"));
    for (pid_t pid = 0; pids >> pid;) {
        if (pid > 0) {
            ::kill(pid, SIGKILL);
        }
    }
}

bool nobody_in(const fs::path& folder) {
    std::error_code error;
    bool empty = read_or_empty(folder / "cgroup.procs").empty();
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        empty = empty && (at->path().filename() != "cgroup.procs" || read_or_empty(at->path()).empty());
    }
    return empty;
}

} // namespace

result<void> remove_groups(const fs::path& folder) {
    if (const int error = remove_tree(folder); error != 0) {
        return cannot("remove the cgroup", folder, error);
    }
    return {};
}

/// They are no children of ours, so there is no end to wait for; and since a process that is being born escapes one
/// round, though not all, each has to look and kill again. One write to cgroup.kill would do, where there is one:
/// version 2, since Linux 5.14.
result<void> kill_and_remove(const fs::path& folder) {
    constexpr int rounds = 50;
    constexpr milliseconds between{10};
    for (int i = 0; i < rounds; ++i) {
        kill_all_in(folder);
        if (i > 0) {
            std::this_thread::sleep_for(between);
        }
        if (nobody_in(folder)) {
            break;
        }
    }
    return remove_groups(folder);
}

} // namespace chalk::namespaces
