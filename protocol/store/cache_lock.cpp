#include "protocol/store/cache_lock.hpp"

#include "protocol/core/read_file.hpp"
#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <thread>

#include <fcntl.h>
#include <unistd.h>

namespace chalk::store {

namespace {

constexpr const char* cache_lock_name = "lock";
constexpr std::string_view ledger_start = "chalk chunk cache 1 ";
constexpr std::string_view unknown_total = "unknown";

/// How long to wait before looking again at a lock that another process holds. There is no call that waits for a lock
/// with a deadline, and a holder is done in a few milliseconds.
constexpr milliseconds first_look{1};
constexpr milliseconds last_look{20};

/// Changes at each start of the machine.
const std::string& machine_start() {
    static const std::string id = [] {
        auto text = read_or_empty("/proc/sys/kernel/random/boot_id");
        while (!text.empty() && text.back() == '\n') {
            text.pop_back();
        }
        return text;
    }();
    return id;
}

/// An open file description's: dropped when a process closes its last descriptor of it, and not when any other
/// descriptor of the file is closed.
struct flock cache_wide(short type) {
    struct flock lock {};
    lock.l_type = type;
    lock.l_whence = SEEK_SET;
    return lock;
}

} // namespace

cache_result<cache_lock> cache_lock::take(const std::filesystem::path& folder, std::timed_mutex& mutex,
                                          milliseconds deadline) {
    const auto end = std::chrono::steady_clock::now() + deadline;
    const auto busy = [&] {
        return cache_failure{cache_trouble::busy,
                             fmt::format("the cache {} was locked for more than {} ms by another process or thread",
                                         folder.string(), deadline.count())};
    };
    const auto file = folder / cache_lock_name;
    std::unique_lock threads(mutex, std::defer_lock);
    if (!threads.try_lock_until(end)) {
        return busy();
    }
    unique_fd fd(::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (!fd) {
        return cache_failure{cache_trouble::disk, fmt::format("cannot open {}: {}", file.string(), errno_text())};
    }
    for (auto pause = first_look;; pause = std::min(2 * pause, last_look)) {
        auto wanted = cache_wide(F_WRLCK);
        if (::fcntl(fd.get(), F_OFD_SETLK, &wanted) == 0) {
            break;
        }
        if (errno != EAGAIN && errno != EACCES && errno != EINTR) {
            return cache_failure{cache_trouble::disk, fmt::format("cannot lock {}: {}", file.string(), errno_text())};
        }
        if (std::chrono::steady_clock::now() + pause > end) {
            return busy();
        }
        std::this_thread::sleep_for(pause);
    }
    return cache_lock(file, std::move(threads), std::move(fd));
}

cache_lock::~cache_lock() {
    if (fd_) {
        // Said outright: a child that was forked a moment ago has the description too, until it executes.
        auto none = cache_wide(F_UNLCK);
        ::fcntl(fd_.get(), F_OFD_SETLK, &none);
    }
}

std::optional<bytes> cache_lock::read_total() const {
    const auto text = read_up_to(fd_.get(), 256, 0).value_or("");
    std::string_view rest = text;
    const auto start = fmt::format("{}{} ", ledger_start, machine_start());
    if (!rest.starts_with(start) || !rest.ends_with('\n')) {
        return std::nullopt;
    }
    rest.remove_prefix(std::min(rest.find_first_not_of(' ', start.size()), rest.size() - 1));
    bytes total;
    const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), total.count);
    return read.ec == std::errc() && *read.ptr == '\n' ? std::optional(total) : std::nullopt;
}

cache_result<void> cache_lock::begin_change() {
    return write(unknown_total);
}

cache_result<void> cache_lock::end_change(bytes total) {
    return write(std::to_string(total.count));
}

cache_result<void> cache_lock::write(std::string_view record) {
    // Of one length, so that a new record covers the old one in one write.
    const auto text = fmt::format("{}{} {:>20}\n", ledger_start, machine_start(), record);
    if (::pwrite(fd_.get(), text.data(), text.size(), 0) != static_cast<ssize_t>(text.size())) {
        return cache_failure{cache_trouble::disk, fmt::format("cannot write {}: {}", file_.string(), errno_text())};
    }
    return {};
}

} // namespace chalk::store
