#include "cli/run/limits.hpp"

#include "cli/run/sizes.hpp"
#include "protocol/core/read_file.hpp"
#include "runtimes/confinement/student_limits.hpp"
#include "runtimes/namespaces/cgroup_hierarchies.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <string>
#include <thread>

#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

// Without --memory or CHALK_SANDBOX_MEMORY_BYTES a sandbox gets this, or half of what a small machine can give.
constexpr bytes default_memory = 4_GiB;
constexpr bytes least_memory = 64_MiB;
constexpr bytes default_disk = 2_GiB;
constexpr bytes least_disk = 16_MiB;
// For chalk itself and the rest of the machine.
constexpr bytes host_memory = 512_MiB;
// A run mostly waits for its model: a quarter of a cpu each keeps two cores busy and no more than that.
constexpr std::uint32_t sandbox_milli_cpus = 250;
// Thirty sandboxes then fit the 32768 process ids of a small machine; a parallel build needs a few hundred.
constexpr std::uint32_t sandbox_processes = 1024;
// Pipes, pidfds, the host channel and cgroup files of one sandbox; a websocket listener and a few clients.
constexpr std::uint32_t sandbox_files = 16;
constexpr std::uint32_t chalk_files = 128;

// A run of --no-containerized: its harness is a few actors, its environment host one interpreter.
constexpr actors::resources local_run{
    .memory = 64_MiB, .disk = 16_MiB, .processes = 32, .milli_cpus = 100, .open_files = 16};
// builtin:noop starts no process and opens a listener at most.
constexpr actors::resources noop_run{
    .memory = bytes{256 * 1024}, .disk = bytes{256 * 1024}, .processes = 0, .milli_cpus = 0, .open_files = 4};

std::optional<std::uint64_t> read_number(const char* file) {
    std::ifstream in(file);
    std::uint64_t value = 0;
    if (in >> value) {
        return value;
    }
    return std::nullopt;
}

bytes memory_of_machine() {
    const auto pages = static_cast<std::uint64_t>(std::max(0L, ::sysconf(_SC_PHYS_PAGES)));
    std::uint64_t memory = pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
    for (const char* file : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
        if (const auto limit = read_number(file)) {
            memory = std::min(memory, *limit);
        }
    }
    return {memory};
}

/// How many may exist: the machine's limit, that of each cgroup that we are in, and the user's, which root has not.
std::uint32_t processes_of_machine() {
    std::uint64_t processes = read_number("/proc/sys/kernel/pid_max").value_or(32'768);
    for (const auto& one :
         namespaces::find_hierarchies(read_or_empty("/proc/self/cgroup"), read_or_empty("/proc/self/mountinfo"))) {
        for (const auto& group : one.bases) {
            if (const auto limit = read_number((group / "pids.max").c_str())) { // "max" is none
                processes = std::min(processes, *limit);
            }
        }
    }
    rlimit of_user{};
    if (::geteuid() != 0 && ::getrlimit(RLIMIT_NPROC, &of_user) == 0) {
        processes = std::min<std::uint64_t>(processes, of_user.rlim_cur);
    }
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(processes, std::numeric_limits<std::uint32_t>::max()));
}

std::uint64_t share(std::uint64_t has, std::uint64_t wants) {
    return wants == 0 ? std::numeric_limits<std::uint64_t>::max() : has / wants;
}

std::size_t how_many(const actors::resources& has, const actors::resources& wants, const run_options& options) {
    std::uint64_t n = options.runs;
    n = std::min(n, share(has.memory.count, wants.memory.count));
    n = std::min(n, share(has.disk.count, wants.disk.count));
    n = std::min(n, share(has.processes, wants.processes));
    n = std::min(n, share(has.milli_cpus, wants.milli_cpus));
    n = std::min(n, share(has.open_files, wants.open_files));
    n = std::min<std::uint64_t>(n, options.max_concurrent.value_or(options.runs));
    return static_cast<std::size_t>(n);
}

} // namespace

std::uint32_t raise_open_files() {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    rlimit raised = limit;
    raised.rlim_cur = raised.rlim_max;
    const rlim_t now = ::setrlimit(RLIMIT_NOFILE, &raised) == 0 ? raised.rlim_cur : limit.rlim_cur;
    return static_cast<std::uint32_t>(std::min<rlim_t>(now, 1U << 20U));
}

fs::path existing_part(fs::path path) {
    std::error_code ec;
    path = path.empty() ? fs::current_path(ec) : fs::absolute(path, ec); // of a file's bare name nothing is left
    while (!fs::exists(path, ec) && path.has_parent_path() && path != path.parent_path()) {
        path = path.parent_path();
    }
    return path;
}

result<machine> look_at_machine(const fs::path& where_files_go) {
    machine m;
    m.memory = memory_of_machine();
    struct statvfs disk {};
    if (::statvfs(existing_part(where_files_go).c_str(), &disk) == 0) {
        m.free_disk = {static_cast<std::uint64_t>(disk.f_bavail) * disk.f_frsize};
    }
    m.cpus = std::max(1U, std::thread::hardware_concurrency());
    m.processes = processes_of_machine();
    m.open_files = raise_open_files();
    if (const char* text = std::getenv("CHALK_SANDBOX_MEMORY_BYTES"); text != nullptr && *text != '\0') {
        auto size = parse_size(text);
        if (!size) {
            return config_failure("CHALK_SANDBOX_MEMORY_BYTES: " + size.error().message);
        }
        m.sandbox_memory = *size;
    }
    return m;
}

result<run_plan_limits> plan_limits(const machine& m, const run_options& options, bool noop_environment) {
    run_plan_limits plan;
    plan.capacity = actors::overcommitted({.memory = m.memory - host_memory,
                                           .disk = {m.free_disk.count / 10 * 8},
                                           .processes = m.processes / 10 * 8,
                                           .milli_cpus = m.cpus * 1000,
                                           .open_files = m.open_files - std::min(m.open_files, chalk_files)},
                                          options.overcommit);
    if (options.no_containerized) {
        plan.reservation = noop_environment ? noop_run : local_run;
        plan.at_once = how_many(plan.capacity, plan.reservation, options);
    } else {
        auto& limits = plan.sandbox;
        const bytes half{(m.memory - host_memory).count / 2};
        limits.memory = options.memory.value_or(m.sandbox_memory.value_or(std::min(default_memory, half)));
        if (limits.memory < least_memory) {
            return config_failure(fmt::format("a sandbox of {} is too small: at least {}", format_size(limits.memory),
                                              format_size(least_memory)));
        }
        limits.student_memory = confinement::student_memory(limits.memory);
        limits.processes = sandbox_processes;
        limits.student_processes = sandbox_processes / 2;
        plan.reservation = {.memory = limits.memory,
                            .disk = {},
                            .processes = limits.processes,
                            .milli_cpus = sandbox_milli_cpus,
                            .open_files = sandbox_files};
        plan.at_once = how_many(plan.capacity, plan.reservation, options);
        // 80 % of what is free, split between those that may be alive at once.
        const bytes split{plan.capacity.disk.count / std::max<std::size_t>(1, plan.at_once)};
        limits.disk = options.disk.value_or(std::min(default_disk, split));
        if (limits.disk < least_disk) {
            return config_failure(fmt::format(
                "a sandbox needs at least {} of disk; {} is free for {} runs at once: free some, or lower -n or "
                "--max-concurrent",
                format_size(least_disk), format_size(plan.capacity.disk), plan.at_once));
        }
        limits.student_disk = {limits.disk.count / 2};
        plan.reservation.disk = limits.disk;
        plan.at_once = how_many(plan.capacity, plan.reservation, options);
    }
    actors::ledger book(plan.capacity, options.max_concurrent);
    if (const auto fits = book.request(actors::ticket{1}, plan.reservation); !fits) {
        return failure{fits.error().kind,
                       fits.error().message +
                           "; free some of what is short, make the run smaller (--memory, --disk), or share the "
                           "memory and cpus more widely (--overcommit)"};
    }
    return plan;
}

} // namespace chalk::cli
