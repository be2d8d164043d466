#include "runtimes/confinement/check/as_user.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::confinement::check {

namespace {

using verdict = probe_result::verdict;

constexpr std::uint64_t slack_processes = 32;
constexpr std::uint64_t slack_memory = 32ULL << 20U;

std::uint64_t memory_available() {
    std::ifstream in("/proc/meminfo");
    std::string word;
    std::uint64_t kib = 0;
    while (in >> word) {
        if (word == "MemAvailable:" && in >> kib) {
            return kib * 1024;
        }
    }
    return 0;
}

std::string no_group(const settings& how) {
    return how.cgroup_procs.empty()
               ? " (no group of the student's is known here: start the check from the environment's own code, with its "
                 "descriptors)"
               : "";
}

probe_result processes(const settings& how) {
    probe_result made{"limit: processes", fmt::format("fork fails at {} or before", how.processes), {}, verdict::fail};
    const auto most = how.processes + slack_processes;
    const auto end = as_user(how, [most](std::uint64_t& count) {
        for (count = 0; count < most; ++count) {
            const pid_t child = ::fork();
            if (child == 0) {
                for (;;) {
                    ::pause();
                }
            }
            if (child < 0) {
                return errno == EAGAIN ? 0 : 1;
            }
        }
        return 2; // the whole group is killed now
    });
    if (!end || end->code > 100) {
        made.seen =
            "could not be tried: " + std::string(end && end->code == 121 ? "the group cannot be joined" : "no child");
        return made;
    }
    made.seen = end->code == 0 ? fmt::format("fork failed at {}", end->counted)
                               : fmt::format("{} forks, none failed{}", end->counted, no_group(how));
    made.how = end->code == 0 ? verdict::pass : verdict::fail;
    return made;
}

probe_result memory(const settings& how) {
    const auto limit = how.student_memory.count;
    probe_result made{"limit: memory", fmt::format("killed at {} MiB or before", limit >> 20U), {}, verdict::fail};
    if (memory_available() < limit + 4 * slack_memory) {
        made.seen = fmt::format("only {} MiB are free: the machine would give out first", memory_available() >> 20U);
        made.how = verdict::skip;
        return made;
    }
    const auto most = limit + slack_memory;
    const auto end = as_user(how, [most](std::uint64_t& used) {
        // If memory runs out, this one goes and nobody else.
        const int score = ::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
        (void)!::write(score, "1000", 4);
        constexpr std::size_t part = 4U << 20U;
        for (used = 0; used < most; used += part) {
            void* more = ::mmap(nullptr, part, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (more == MAP_FAILED) {
                return 0;
            }
            std::memset(more, 1, part);
        }
        return 2;
    });
    if (!end || end->code > 100) {
        made.seen = "could not be tried";
        return made;
    }
    const bool held = end->signal == SIGKILL || end->code == 0;
    made.seen = held ? fmt::format("ended at {} MiB", end->counted >> 20U)
                     : fmt::format("used {} MiB{}", end->counted >> 20U, no_group(how));
    made.how = held ? verdict::pass : verdict::fail;
    return made;
}

/// What the student must not do to others; a handful of ways that need no tool.
probe_result other_processes(const settings& how) {
    probe_result made{
        "processes: others", "neither signals to root's processes nor a look at their environment", {}, verdict::fail};
    const pid_t root = ::getpid();
    const auto end = as_user(how, [root](std::uint64_t& broken) {
        broken |= ::kill(root, 0) == 0 ? 1U : 0U;
        const int look = ::open(fmt::format("/proc/{}/environ", root).c_str(), O_RDONLY | O_CLOEXEC);
        char byte = 0;
        broken |= look >= 0 && ::read(look, &byte, 1) == 1 ? 2U : 0U;
        const int memory = ::open(fmt::format("/proc/{}/mem", root).c_str(), O_RDWR | O_CLOEXEC);
        broken |= memory >= 0 ? 4U : 0U;
        return 0;
    });
    if (!end || end->code != 0) {
        made.seen = "could not be tried";
        return made;
    }
    made.seen = end->counted == 0 ? "all refused"
                                  : fmt::format("{}{}{}", (end->counted & 1U) != 0 ? "signals " : "",
                                                (end->counted & 2U) != 0 ? "environment " : "",
                                                (end->counted & 4U) != 0 ? "memory" : "");
    made.how = end->counted == 0 ? verdict::pass : verdict::fail;
    return made;
}

} // namespace

std::vector<probe_result> probe_limits(const settings& how, leftovers&) {
    return {processes(how), memory(how), other_processes(how)};
}

} // namespace chalk::confinement::check
