#include "runtimes/namespaces/sandbox_cgroup.hpp"

#include "protocol/core/read_file.hpp"
#include "runtimes/cannot.hpp"
#include "runtimes/namespaces/cgroup_files.hpp"
#include "runtimes/namespaces/cgroup_removal.hpp"

#include <algorithm>
#include <cerrno>
#include <sstream>
#include <string>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

result<void> set_limit(const fs::path& file, std::uint64_t value) {
    if (const int error = write_group_file(file, std::to_string(value)); error != 0) {
        return cannot("set the limit", file, error);
    }
    return {};
}

result<void> set_limits(const cgroup_hierarchy& which, const fs::path& group, bytes memory, std::uint32_t processes) {
    if (which.memory) {
        if (auto done = set_limit(group / (which.v2 ? "memory.max" : "memory.limit_in_bytes"), memory.count); !done) {
            return done;
        }
        // Swap would let a sandbox use more than it was given; kernels without swap accounting have no such file.
        const fs::path swap = group / (which.v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes");
        const int error = write_group_file(swap, which.v2 ? "0" : std::to_string(memory.count));
        if (error != 0 && error != ENOENT && error != EACCES && error != EOPNOTSUPP) {
            return cannot("set the limit", swap, error);
        }
    }
    return which.pids ? set_limit(group / "pids.max", processes) : result<void>{};
}

std::uint64_t oom_kills(const fs::path& file) {
    std::istringstream in(read_or_empty(file));
    std::string word;
    while (in >> word) {
        std::uint64_t count = 0;
        if (word == "oom_kill" && in >> count) {
            return count;
        }
    }
    return 0;
}

/// Version 1: "tasks" moves one thread without stopping the world, "cgroup.procs" waits out a grace period.
const char* members_of(const cgroup_hierarchy& which) {
    return which.v2 ? "cgroup.procs" : "tasks";
}

} // namespace

result<void> sandbox_cgroup::add(const cgroup_hierarchy& which, const fs::path& run, const sandbox_limits& limits,
                                 uid_t delegate_to) {
    if (::mkdir(run.c_str(), 0755) != 0) {
        return cannot("make the cgroup", run, errno);
    }
    groups_.push_back(run);
    if (auto done = set_limits(which, run, limits.memory, limits.processes); !done) {
        return done;
    }
    if (which.v2) {
        if (auto done = enable_controllers(run, which); !done) {
            return done;
        }
    }
    const fs::path student = run / "student";
    if (auto done = add_student(which, student, limits); !done) {
        return done;
    }
    if (which.memory) {
        for (const fs::path& group : {run, student}) {
            memory_events_.push_back(group / (which.v2 ? "memory.events" : "memory.oom_control"));
        }
    }
    if (auto done = add_harness(which, run, delegate_to); !done) {
        return done;
    }
    return which.v2 || which.pids ? add_calls(student / "calls", delegate_to) : result<void>{};
}

result<void> sandbox_cgroup::make(const fs::path& group) {
    groups_.push_back(group);
    return make_group(group);
}

result<void> sandbox_cgroup::add_student(const cgroup_hierarchy& which, const fs::path& student,
                                         const sandbox_limits& limits) {
    if (auto done = make(student); !done) {
        return done;
    }
    if (auto done = set_limits(which, student, limits.student_memory, limits.student_processes); !done) {
        return done;
    }
    const fs::path members = student / members_of(which);
    student_procs_.emplace_back(::open(members.c_str(), O_WRONLY | O_CLOEXEC));
    return student_procs_.back() ? result<void>{} : cannot("open", members, errno);
}

result<void> sandbox_cgroup::add_harness(const cgroup_hierarchy& which, const fs::path& run, uid_t delegate_to) {
    if (!which.v2) {
        const fs::path members = run / members_of(which);
        join_.emplace_back(::open(members.c_str(), O_WRONLY | O_CLOEXEC));
        return join_.back() ? result<void>{} : cannot("open", members, errno);
    }
    const fs::path harness = run / "harness";
    if (auto done = make(harness); !done) {
        return done;
    }
    into_.reset(::open(harness.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    v2_ = true;
    // The harness moves the student's processes between the student's group and its calls: for that it needs the group
    // above both. The limits beside it stay the host's.
    const fs::path student = run / "student" / "cgroup.procs";
    if (::chown(student.c_str(), delegate_to, delegate_to) != 0 && errno != EPERM) {
        return cannot("hand over", student, errno);
    }
    return {};
}

result<void> sandbox_cgroup::add_calls(const fs::path& calls, uid_t delegate_to) {
    if (auto done = make(calls); !done) {
        return done;
    }
    bool handed_over = true;
    for (const fs::path& handed : {calls, calls / "cgroup.procs"}) {
        if (::chown(handed.c_str(), delegate_to, delegate_to) != 0) {
            if (errno != EPERM) {
                return cannot("hand over", handed, errno);
            }
            // Without root we cannot give it away: then there is no group per call, and the harness finds a call's
            // processes by their parents.
            handed_over = false;
        }
    }
    if (handed_over) {
        calls_folder_.reset(::open(calls.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
        if (!calls_folder_) {
            return cannot("open", calls, errno);
        }
    }
    return {};
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
        if (auto removed = remove_groups(*group); !removed && done) {
            done = std::move(removed);
        }
    }
    if (done) {
        groups_.clear();
    }
    return done;
}

} // namespace chalk::namespaces
