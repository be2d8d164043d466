#include "runtimes/confinement/watchdog/usage.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <fstream>
#include <system_error>

#include <sys/stat.h>
#include <unistd.h>

namespace chalk::confinement {

namespace fs = std::filesystem;

namespace {

std::vector<pid_t> processes_of(uid_t student) {
    std::vector<pid_t> found;
    std::error_code error;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
        const std::string name = at->path().filename().string();
        pid_t pid = 0;
        const auto parsed = std::from_chars(name.data(), name.data() + name.size(), pid);
        if (parsed.ec != std::errc() || parsed.ptr != name.data() + name.size()) {
            continue;
        }
        // Not the folder's owner, which is root's for a process that may not be looked into.
        std::ifstream status(at->path() / "status");
        std::string word;
        std::string state;
        while (status >> word) {
            if (word == "State:") {
                status >> state;
            } else if (word == "Uid:") {
                uid_t real = 0;
                if (status >> real && real == student && state != "Z") {
                    found.push_back(pid);
                }
                break;
            }
        }
    }
    return found;
}

bytes resident(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/statm", pid));
    std::uint64_t total = 0;
    std::uint64_t pages = 0;
    in >> total >> pages;
    return {pages * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE))};
}

void add_files(const fs::path& folder, uid_t student, const std::stop_token& enough, student_usage& used) {
    struct stat top {};
    if (::lstat(folder.c_str(), &top) != 0) {
        return;
    }
    std::error_code error;
    constexpr auto options = fs::directory_options::skip_permission_denied;
    for (fs::recursive_directory_iterator at(folder, options, error), end;
         !error && at != end && !enough.stop_requested(); at.increment(error)) {
        struct stat about {};
        if (::lstat(at->path().c_str(), &about) != 0) {
            continue;
        }
        if (about.st_dev != top.st_dev) {
            at.disable_recursion_pending();
        } else if (about.st_uid == student) {
            used.disk = used.disk + bytes{static_cast<std::uint64_t>(about.st_blocks) * 512};
        }
    }
}

} // namespace

std::optional<std::string> passed_limit(const student_usage& used, const watched_limits& limits) {
    const auto said = [](const char* what, bytes has, bytes may) {
        return fmt::format("{}: {} MiB of {} MiB", what, has.count >> 20U, may.count >> 20U);
    };
    if (limits.memory && used.memory > *limits.memory) {
        return said("memory", used.memory, *limits.memory);
    }
    if (limits.disk && used.disk > *limits.disk) {
        return said("disk", used.disk, *limits.disk);
    }
    if (limits.processes && used.processes > *limits.processes) {
        return fmt::format("processes: {} of {}", used.processes, *limits.processes);
    }
    return std::nullopt;
}

student_usage measure_usage(uid_t student, const std::vector<fs::path>& folders, const std::stop_token& enough) {
    student_usage used;
    for (const pid_t pid : processes_of(student)) {
        ++used.processes;
        used.memory = used.memory + resident(pid);
    }
    for (const fs::path& folder : folders) {
        add_files(folder, student, enough, used);
    }
    return used;
}

std::size_t kill_all_of(uid_t student) {
    constexpr int rounds = 200; // a fork that is under way escapes a round
    std::size_t killed = 0;
    for (int i = 0; i < rounds; ++i) {
        const auto alive = processes_of(student);
        if (alive.empty()) {
            break;
        }
        for (const pid_t pid : alive) {
            killed += ::kill(pid, SIGKILL) == 0 ? 1U : 0U;
        }
    }
    return killed;
}

} // namespace chalk::confinement
