#include "protocol/store/cache_pin.hpp"

#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <limits>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace {

cache_failure pin_trouble(std::string_view doing, const std::filesystem::path& file) {
    return {cache_trouble::disk, fmt::format("cannot {} the cache's pin {}: {}", doing, file.string(), errno_text())};
}

struct flock whole_pin() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

/// Adds what a living pin names to `all`.
cache_result<void> read_pin(const std::filesystem::path& file, int fd, std::unordered_set<chunk_digest>& all) {
    struct stat about {};
    if (::fstat(fd, &about) != 0) {
        return pin_trouble("read", file);
    }
    const auto text = read_up_to(fd, static_cast<std::size_t>(about.st_size), 0);
    if (!text) {
        return pin_trouble("read", file);
    }
    chunk_digest one;
    for (std::size_t at = 0; at + one.sum.size() <= text->size(); at += one.sum.size()) {
        std::copy_n(text->begin() + static_cast<std::ptrdiff_t>(at), one.sum.size(), one.sum.begin());
        all.insert(one);
    }
    return {};
}

} // namespace

cache_pin::~cache_pin() {
    if (fd_) {
        ::unlink(file_.c_str());
    }
}

cache_result<cache_pin> cache_pin::make(const std::filesystem::path& pins, const std::vector<chunk_digest>& chunks) {
    const auto file = pins / unused_name();
    unique_fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    if (!fd) {
        return pin_trouble("make", file);
    }
    cache_pin made(file, std::move(fd)); // removes the file where the rest fails
    std::string names;
    names.reserve(chunks.size() * sizeof(sha256_digest));
    for (const auto& chunk : chunks) {
        names.append(chunk.sum.begin(), chunk.sum.end());
    }
    auto lock = whole_pin();
    if (::fcntl(made.fd_.get(), F_OFD_SETLK, &lock) != 0 || !write_whole(made.fd_.get(), names)) {
        return pin_trouble("write", file);
    }
    return made;
}

cache_result<std::unordered_set<chunk_digest>> read_pins(const std::filesystem::path& pins) {
    const unique_fd folder(::open(pins.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto names = folder ? list_names(folder.get(), std::numeric_limits<std::size_t>::max()) : std::nullopt;
    if (!names) {
        return pin_trouble("list", pins);
    }
    std::unordered_set<chunk_digest> all;
    for (const auto& name : *names) {
        const unique_fd fd(::openat(folder.get(), name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        if (!fd) {
            if (errno == ENOENT) {
                continue; // let go of a moment ago
            }
            return pin_trouble("open", pins / name);
        }
        auto holder = whole_pin();
        if (::fcntl(fd.get(), F_OFD_GETLK, &holder) != 0) {
            return pin_trouble("look at", pins / name);
        }
        if (holder.l_type == F_UNLCK) {
            ::unlinkat(folder.get(), name.c_str(), 0);
        } else if (auto read = read_pin(pins / name, fd.get(), all); !read) {
            return read.error();
        }
    }
    return all;
}

} // namespace chalk::store
