#include "protocol/journal/folder_lock.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/event/event.hpp"
#include "protocol/journal/trouble.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace chalk::journal {

namespace {

constexpr const char* lock_name = "lock";

std::string reason(int error) {
    return std::generic_category().message(error);
}

/// An open file description's lock: held by the descriptor and not by the process (another close() in it would let go),
/// and, unlike flock's, open to a question that does not take it.
struct flock whole_file() {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    return lock;
}

/// What the holder wrote. Empty for a moment after it has taken the lock.
std::string read_holder(int fd) {
    std::array<char, 512> text{};
    const auto size = ::pread(fd, text.data(), text.size(), 0);
    std::string holder(text.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    while (!holder.empty() && holder.back() == '\n') {
        holder.pop_back();
    }
    return holder.empty() ? "a process that has only just begun" : to_valid_utf8(std::move(holder));
}

result<void> write_holder(int fd, const std::filesystem::path& file) {
    const auto text = fmt::format("process {} on {}, since {}\n", ::getpid(), host_name(),
                                  format_time(std::chrono::system_clock::now()));
    if (::ftruncate(fd, 0) != 0 || ::pwrite(fd, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        return harness_failure(fmt::format("cannot write {}: {}", file.string(), reason(errno)));
    }
    return {};
}

} // namespace

result<folder_lock> folder_lock::take(const std::filesystem::path& folder) {
    const auto file = folder / lock_name;
    unique_fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644));
    if (!fd) {
        return config_failure(fmt::format("cannot open {}: {}", file.string(), reason(errno)));
    }
    auto wanted = whole_file();
    if (::fcntl(fd.get(), F_OFD_SETLK, &wanted) != 0) {
        if (errno == EAGAIN || errno == EACCES) {
            return config_failure(fmt::format("a sweep runs in {} already: {}; wait for it, or steer it with `chalk "
                                              "sweep ctl`",
                                              folder.string(), read_holder(fd.get())));
        }
        return config_failure(fmt::format("cannot lock {}: {}", file.string(), reason(errno)));
    }
    if (auto written = write_holder(fd.get(), file); !written) {
        return written.error();
    }
    return folder_lock(std::move(fd));
}

std::string folder_lock::holder(const std::filesystem::path& folder) {
    const unique_fd fd(::open((folder / lock_name).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
    auto wanted = whole_file();
    const bool held = fd && ::fcntl(fd.get(), F_OFD_GETLK, &wanted) == 0 && wanted.l_type != F_UNLCK;
    return held ? read_holder(fd.get()) : std::string{};
}

} // namespace chalk::journal
