#include "protocol/store/unfinished_folder.hpp"

#include "protocol/store/materialise.hpp"
#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <limits>
#include <system_error>

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace fs = std::filesystem;

namespace {

/// How often a name may be swept away between its making and its locking.
constexpr int tries_to_make = 5;

bool is_still_at(int fd, const fs::path& path) {
    struct stat mine {};
    struct stat there {};
    return ::fstat(fd, &mine) == 0 && ::lstat(path.c_str(), &there) == 0 && mine.st_dev == there.st_dev &&
           mine.st_ino == there.st_ino;
}

unique_fd open_unfinished(const fs::path& path) {
    return unique_fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

} // namespace

result<unfinished_folder> unfinished_folder::make(const fs::path& target) {
    for (int i = 0; i < tries_to_make; ++i) {
        const auto path = target.parent_path() /
                          fmt::format(".{}.{}{}", target.filename().string(), unused_name(), unfinished_extension);
        if (::mkdir(path.c_str(), 0700) != 0) {
            return harness_failure(fmt::format("cannot make {}: {}", path.string(), errno_text()));
        }
        auto fd = open_unfinished(path);
        if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_still_at(fd.get(), path)) {
            return unfinished_folder(path, std::move(fd));
        }
        // Removed here, since nobody's name for it outlives this try. (Where it was swept away there is none.)
        const bool swept = fd || errno == ENOENT;
        const auto cause = errno_text();
        ::rmdir(path.c_str());
        if (!swept) {
            return harness_failure(fmt::format("cannot open {}: {}", path.string(), cause));
        }
    }
    return harness_failure(
        fmt::format("cannot make a folder beside {}: it was removed or could not be locked, {} times", target.string(),
                    tries_to_make));
}

unfinished_folder::~unfinished_folder() {
    if (!path_.empty()) {
        std::error_code ignored; // remove_unfinished tries again
        fs::remove_all(path_, ignored);
    }
}

result<void> unfinished_folder::finish(const fs::path& target) {
    if (::renameat2(AT_FDCWD, path_.c_str(), AT_FDCWD, target.c_str(), RENAME_NOREPLACE) != 0) {
        return harness_failure(fmt::format("cannot name the new folder {}: {}", target.string(), errno_text()));
    }
    path_.clear();
    return {};
}

std::size_t remove_unfinished(const fs::path& folder) {
    const unique_fd top(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    const auto names = top ? list_names(top.get(), std::numeric_limits<std::size_t>::max()) : std::nullopt;
    std::size_t removed = 0;
    for (const auto& name : names.value_or(std::vector<std::string>())) {
        if (!name.starts_with('.') || !name.ends_with(unfinished_extension)) {
            continue;
        }
        const auto fd = open_unfinished(folder / name);
        if (fd && ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0 && is_still_at(fd.get(), folder / name)) {
            std::error_code error;
            fs::remove_all(folder / name, error);
            removed += error ? 0 : 1;
        }
    }
    return removed;
}

} // namespace chalk::store
