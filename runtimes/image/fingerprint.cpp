#include "runtimes/image/fingerprint.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::image {

namespace fs = std::filesystem;

void fingerprint::add(std::string_view field) {
    const std::uint64_t size = field.size();
    sum_.add({reinterpret_cast<const char*>(&size), sizeof size});
    sum_.add(field);
}

void fingerprint::add_tree_root(const fs::path& path) {
    struct stat found {};
    if (::lstat(path.c_str(), &found) != 0) {
        add(path.string() + " is not there");
        return;
    }
    add(fmt::format("{} {} {} {} {} {} {} {}", path.string(), found.st_mode, found.st_uid, found.st_size, found.st_ino,
                    found.st_dev, found.st_mtim.tv_sec, found.st_mtim.tv_nsec));
}

void fingerprint::add_tree(const fs::path& path) {
    add_tree_root(path);
    std::error_code error;
    if (fs::is_symlink(path, error) || !fs::is_directory(path, error)) {
        return;
    }
    std::vector<fs::path> below;
    for (fs::directory_iterator at(path, error), end; !error && at != end; at.increment(error)) {
        below.push_back(at->path());
    }
    std::sort(below.begin(), below.end());
    for (const fs::path& one : below) {
        add_tree(one);
    }
}

result<void> fingerprint::add_contents(const fs::path& file) {
    const unique_fd in(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat found {};
    if (!in || ::fstat(in.get(), &found) != 0) {
        return config_failure(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
    }
    add(std::to_string(found.st_size));
    std::vector<char> buffer(256 * 1024);
    for (;;) {
        const ssize_t got = ::read(in.get(), buffer.data(), buffer.size());
        if (got < 0) {
            return config_failure(fmt::format("cannot read {}: {}", file.string(), std::strerror(errno)));
        }
        if (got == 0) {
            return {};
        }
        sum_.add({buffer.data(), static_cast<std::size_t>(got)});
    }
}

std::string fingerprint::hex() {
    return hex_of(sum_.finish());
}

} // namespace chalk::image
