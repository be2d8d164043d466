#include "protocol/core/read_file.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>

namespace chalk {

namespace {

failure refuse(const std::filesystem::path& file, std::string_view cause) {
    return config_failure(fmt::format("{}: {}", file.string(), cause));
}

failure refuse_with_errno(const std::filesystem::path& file, int error) {
    return refuse(file, error == ENOENT ? "no such file" : std::generic_category().message(error));
}

/// 0 or an error number. Stops when it has more than `limit` bytes.
int read_to_end(int fd, std::string& text, std::uint64_t limit) {
    char part[16 * 1024];          // not in `text`: what it grows by would be filled with zeros first
    while (text.size() <= limit) { // to the end, not to st_size: a file in /proc says 0
        const auto got = ::read(fd, part, sizeof part);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return got < 0 ? errno : 0;
        }
        text.append(part, static_cast<std::size_t>(got));
    }
    return 0;
}

} // namespace

result<std::string> read_file(const std::filesystem::path& file, bytes limit) {
    // Not blocking, so that a FIFO without a writer is refused below instead of waited for.
    const unique_fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!fd) {
        return refuse_with_errno(file, errno);
    }
    struct stat info = {};
    if (::fstat(fd.get(), &info) != 0) {
        return refuse_with_errno(file, errno);
    }
    if (S_ISDIR(info.st_mode)) {
        return refuse(file, "is a folder, not a file");
    }
    if (!S_ISREG(info.st_mode)) {
        return refuse(file, "is not a regular file");
    }
    const auto too_large = [&] { return refuse(file, fmt::format("larger than {} bytes", limit.count)); };
    if (static_cast<std::uint64_t>(info.st_size) > limit.count) {
        return too_large();
    }

    std::string text;
    if (const int error = read_to_end(fd.get(), text, limit.count); error != 0) {
        return refuse_with_errno(file, error);
    }
    return text.size() > limit.count ? too_large() : result<std::string>(std::move(text));
}

std::string read_or_empty(const std::filesystem::path& file) {
    const unique_fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
    std::string text;
    return fd && read_to_end(fd.get(), text, text.max_size()) == 0 ? text : std::string();
}

} // namespace chalk
