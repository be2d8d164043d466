#include "runtimes/confinement/own_groups.hpp"

#include "protocol/core/read_file.hpp"
#include "runtimes/cannot.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <sstream>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::confinement {

namespace fs = std::filesystem;

namespace {

bool has_word(const std::string& text, std::string_view wanted) {
    std::istringstream in(text);
    for (std::string word; in >> word;) {
        if (word == wanted) {
            return true;
        }
    }
    return false;
}

result<void> put(const fs::path& file, const std::string& value) {
    const unique_fd out(::open(file.c_str(), O_WRONLY | O_CLOEXEC));
    if (!out || ::write(out.get(), value.data(), value.size()) != static_cast<ssize_t>(value.size())) {
        return cannot("write to", file, errno);
    }
    return {};
}

bool writable(const fs::path& folder) {
    return ::access(folder.c_str(), W_OK) == 0 && ::access((folder / "cgroup.procs").c_str(), W_OK) == 0;
}

result<void> move_in(const own_hierarchy& which, const fs::path& harness) {
    if (!which.v2) {
        return put(harness / "cgroup.procs", "0");
    }
    std::istringstream all(read_or_empty(which.folder / "cgroup.procs"));
    for (std::string pid; all >> pid;) {
        if (auto moved = put(harness / "cgroup.procs", pid); !moved && errno != ESRCH) {
            return moved;
        }
    }
    for (const auto& [on, name] : {std::pair(which.memory, "+memory"), std::pair(which.pids, "+pids")}) {
        if (on) {
            if (auto enabled = put(which.folder / "cgroup.subtree_control", name); !enabled) {
                return enabled;
            }
        }
    }
    return {};
}

result<void> limit(const own_hierarchy& which, const fs::path& student, const own_limits& limits) {
    if (which.memory && limits.memory) {
        const char* file = which.v2 ? "memory.max" : "memory.limit_in_bytes";
        if (auto set = put(student / file, std::to_string(limits.memory->count)); !set) {
            return set;
        }
    }
    return which.pids ? put(student / "pids.max", std::to_string(limits.processes)) : result<void>{};
}

} // namespace

std::vector<own_hierarchy> find_own_hierarchies(const fs::path& root) {
    std::vector<own_hierarchy> found;
    if (::access((root / "cgroup.controllers").c_str(), F_OK) == 0) {
        const std::string controllers = read_or_empty(root / "cgroup.controllers");
        if (writable(root)) {
            found.push_back({root, true, has_word(controllers, "memory"), has_word(controllers, "pids")});
        }
        return found;
    }
    for (const char* name : {"memory", "pids"}) {
        if (writable(root / name)) {
            found.push_back({root / name, false, name == std::string_view("memory"), name == std::string_view("pids")});
        }
    }
    return found;
}

result<own_groups> make_own_groups(const std::vector<own_hierarchy>& where, const own_limits& limits) {
    own_groups made;
    bool memory = false;
    bool pids = false;
    for (const own_hierarchy& which : where) {
        const fs::path harness = which.folder / "chalk_harness";
        const fs::path student = which.folder / "chalk_student";
        for (const fs::path& group : {harness, student}) {
            if (::mkdir(group.c_str(), 0755) != 0 && errno != EEXIST) {
                return cannot("make the cgroup", group, errno);
            }
        }
        if (auto moved = move_in(which, harness); !moved) {
            return moved.error();
        }
        if (auto set = limit(which, student, limits); !set) {
            return set.error();
        }
        made.student_procs.emplace_back(::open((student / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
        if (!made.student_procs.back()) {
            return cannot("open", student / "cgroup.procs", errno);
        }
        made.v2 = made.v2 || which.v2;
        memory = memory || (which.memory && limits.memory);
        pids = pids || which.pids;
    }
    made.note = fmt::format(
        "the sandbox's own cgroup v{}: {}, {}", made.v2 ? 2 : 1,
        memory ? fmt::format("memory {} MiB", limits.memory->count >> 20U) : std::string("no limit on memory"),
        pids ? fmt::format("{} processes", limits.processes) : std::string("no limit on processes"));
    return made;
}

} // namespace chalk::confinement
