#include "cli/bench/own_use.hpp"

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace chalk::cli::bench {

std::uint64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    in >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t peak_resident_bytes() {
    std::ifstream in("/proc/self/status");
    const std::string wanted = "VmHWM:";
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with(wanted)) {
            return std::strtoull(line.c_str() + wanted.size(), nullptr, 10) << 10U; // it says kB and means KiB
        }
    }
    return 0;
}

void forget_peak_memory() {
    std::ofstream("/proc/self/clear_refs") << "5";
}

double used_cpu_seconds() {
    timespec used{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

std::size_t open_descriptors() {
    // One of them is the iterator's own.
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})) - 1;
}

} // namespace chalk::cli::bench
