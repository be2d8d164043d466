#include "protocol/cluster/staged_file.hpp"

#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace chalk::cluster {

namespace {

failure staging_failure(std::string_view what, const std::filesystem::path& path) {
    return harness_failure(
        fmt::format("cannot {} {}: {}", what, path.string(), std::generic_category().message(errno)));
}

bool write_whole(int fd, std::string_view text) {
    while (!text.empty()) {
        const auto n = ::write(fd, text.data(), text.size());
        if (n < 0 && errno != EINTR) {
            return false;
        }
        text.remove_prefix(n > 0 ? static_cast<std::size_t>(n) : 0);
    }
    return true;
}

} // namespace

result<staged_file> staged_file::write(const std::filesystem::path& file, std::string_view text, mode_t mode) {
    auto staged = file.parent_path() / ("." + file.filename().string() + ".new");
    ::unlink(staged.c_str()); // an interrupted call's; if it cannot go, the next line says so
    const unique_fd fd(::open(staged.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
    if (!fd) {
        return staging_failure("create", staged);
    }
    staged_file made(file, std::move(staged));
    if (!write_whole(fd.get(), text) || ::fsync(fd.get()) != 0) {
        return staging_failure("write", file);
    }
    return made;
}

staged_file::~staged_file() {
    if (!staged_.empty()) {
        ::unlink(staged_.c_str());
    }
}

result<void> staged_file::put_in_place() {
    if (std::rename(staged_.c_str(), file_.c_str()) != 0) {
        return staging_failure("write", file_);
    }
    staged_.clear();
    return sync_names(file_.parent_path());
}

result<void> sync_names(const std::filesystem::path& folder) {
    const unique_fd fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return fd && ::fsync(fd.get()) == 0 ? result<void>() : staging_failure("sync", folder);
}

} // namespace chalk::cluster
