#include "cli/bench/own_use.hpp"

#include <filesystem>
#include <fstream>
#include <iterator>

#include <unistd.h>

namespace chalk::cli::bench {

std::uint64_t resident_bytes() {
    std::ifstream in("/proc/self/statm");
    std::uint64_t size = 0;
    std::uint64_t resident = 0;
    in >> size >> resident;
    return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t open_descriptors() {
    // One of them is the iterator's own.
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {})) - 1;
}

} // namespace chalk::cli::bench
