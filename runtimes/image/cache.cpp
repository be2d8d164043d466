#include "runtimes/image/cache.hpp"

#include "runtimes/cannot.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <system_error>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::image {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view unfinished = ".new-"; ///< <entry>.new-<n>: locked by its maker as long as that lives

/// Opens and locks `entry`. nullopt: not there (any more).
std::optional<unique_fd> lock(const fs::path& entry, int how) {
    unique_fd fd(::open(entry.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    struct stat ours {};
    struct stat named {};
    if (!fd || ::flock(fd.get(), how) != 0 || ::fstat(fd.get(), &ours) != 0 || ::stat(entry.c_str(), &named) != 0 ||
        ours.st_ino != named.st_ino) {
        return std::nullopt;
    }
    return fd;
}

std::uint64_t size_of(const fs::path& folder) {
    std::uint64_t total = 0;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        struct stat found {};
        if (::lstat(at->path().c_str(), &found) == 0) {
            constexpr std::uint64_t block = 512;
            total += static_cast<std::uint64_t>(found.st_blocks) * block;
        }
    }
    return total;
}

} // namespace

fs::path cache::default_folder() {
    if (const char* xdg = std::getenv("XDG_CACHE_HOME"); xdg != nullptr && *xdg == '/') {
        return fs::path(xdg) / "chalk";
    }
    if (::geteuid() == 0) {
        return "/var/cache/chalk";
    }
    const char* home = std::getenv("HOME");
    return fs::path(home != nullptr && *home == '/' ? home : "/nonexistent") / ".cache/chalk";
}

cache::cache(fs::path folder, remover remove) : folder_(std::move(folder)), remove_(std::move(remove)) {
    if (!remove_) {
        remove_ = [](const fs::path& doomed) -> result<void> {
            std::error_code error;
            fs::remove_all(doomed, error);
            return error ? cannot("remove", doomed, error.value()) : result<void>{};
        };
    }
}

result<void> cache::ensure(const fs::path& folder) const {
    std::error_code error;
    fs::create_directories(folder, error);
    // Other users of the host have no business in here: root's data of an environment lies below.
    if (error || ::chmod(folder_.c_str(), 0700) != 0) {
        return cannot("make the cache", folder, error ? error.value() : errno);
    }
    return {};
}

result<cache_entry> cache::get(const std::string& kind, const std::string& key,
                               const std::function<result<void>(const fs::path&)>& make) const {
    const fs::path entry = folder_ / kind / key;
    const auto found = [&]() -> std::optional<cache_entry> {
        auto held = lock(entry, LOCK_SH);
        if (!held) {
            return std::nullopt;
        }
        (void)::futimens(held->get(), nullptr); // the time of use; a read-only cache does without
        return cache_entry{entry, std::move(*held)};
    };
    if (auto held = found()) {
        return std::move(*held);
    }
    if (auto ready = ensure(folder_ / kind); !ready) {
        return ready.error();
    }
    static std::atomic<unsigned> count{0};
    const fs::path fresh = entry.string() + fmt::format("{}{}-{}", unfinished, ::getpid(), count++);
    std::error_code ignored;
    if (fs::exists(fresh, ignored)) { // of an earlier process of our number
        if (auto removed = remove_(fresh); !removed) {
            return removed.error();
        }
    }
    if (::mkdir(fresh.c_str(), 0755) != 0) {
        return cannot("make", fresh, errno);
    }
    auto held = lock(fresh, LOCK_SH);
    result<void> made = held ? make(fresh) : cannot("lock", fresh, errno);
    if (made && ::rename(fresh.c_str(), entry.c_str()) == 0) {
        return cache_entry{entry, std::move(*held)};
    }
    const int error = errno;
    (void)remove_(fresh); // why it was not made is what counts; collect() finds what stays
    if (!made) {
        return made.error();
    }
    if (error == EEXIST || error == ENOTEMPTY) { // someone else was faster
        if (auto theirs = found()) {
            return std::move(*theirs);
        }
    }
    return cannot("put in place", entry, error);
}

result<std::vector<cache_use>> cache::collect(std::chrono::hours age, bool dry_run) const {
    std::vector<cache_use> collected;
    const auto oldest = std::chrono::system_clock::now() - age;
    std::error_code error;
    for (fs::directory_iterator kind(folder_, error), kinds; !error && kind != kinds; kind.increment(error)) {
        if (!kind->is_directory(error)) {
            continue;
        }
        for (fs::directory_iterator at(kind->path(), error), end; !error && at != end; at.increment(error)) {
            const fs::path entry = at->path();
            struct stat status {};
            if (::lstat(entry.c_str(), &status) != 0 || !S_ISDIR(status.st_mode)) {
                continue;
            }
            const auto used = std::chrono::system_clock::from_time_t(status.st_mtime);
            const bool half_made = entry.filename().string().find(unfinished) != std::string::npos;
            if (used > oldest && !half_made) {
                continue;
            }
            const auto alone = lock(entry, LOCK_EX | LOCK_NB);
            if (!alone) {
                continue;
            }
            collected.push_back(
                {kind->path().filename().string(), entry.filename().string(), size_of(entry), used, false});
            if (dry_run) {
                continue;
            }
            fs::path doomed = entry;
            if (!half_made) {
                doomed += fmt::format("{}{}-gc", unfinished, ::getpid());
                if (::rename(entry.c_str(), doomed.c_str()) != 0) {
                    return cannot("move away", entry, errno);
                }
            }
            if (auto removed = remove_(doomed); !removed) {
                return removed.error();
            }
        }
    }
    if (error && error != std::errc::no_such_file_or_directory) {
        return cannot("list", folder_, error.value());
    }
    return collected;
}

} // namespace chalk::image
