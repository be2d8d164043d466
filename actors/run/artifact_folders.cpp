#include "actors/run/artifact_folders.hpp"

#include "protocol/core/unique_fd.hpp"

#include <algorithm>
#include <cstdio>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_artifact_folders = 256;

/// Nothing is set on it that files of another run would inherit.
bool is_as_we_made_it(const fs::path& folder, mode_t mode) {
    const unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    return opened && ::fstat(opened.get(), &found) == 0 && found.st_mode == mode && found.st_uid == ::geteuid() &&
           found.st_gid == ::getegid() && ::flistxattr(opened.get(), nullptr, 0) <= 0;
}

bool is_empty_folder(const fs::path& folder) {
    std::error_code ec;
    return fs::is_empty(folder, ec) && !ec;
}

} // namespace

std::optional<fs::path> artifact_folders::any_kept() {
    const std::lock_guard lock(mutex_);
    if (kept_.empty()) {
        return std::nullopt;
    }
    auto folder = std::move(kept_.back());
    kept_.pop_back();
    return folder;
}

std::error_code artifact_folders::make(const fs::path& folder) {
    {
        // An earlier attempt's, should it be among those: no other run may have it now.
        const std::lock_guard lock(mutex_);
        std::erase(kept_, folder);
    }
    std::error_code ec;
    if (fs::exists(folder, ec) || ec) {
        return ec || fs::is_directory(folder, ec) ? ec : std::make_error_code(std::errc::not_a_directory);
    }
    if (const auto kept = any_kept()) {
        // Somebody may have put something there meanwhile: then it is theirs.
        if (is_empty_folder(*kept) && ::rename(kept->c_str(), folder.c_str()) == 0) {
            return {};
        }
        ::rmdir(kept->c_str());
    }
    fs::create_directories(folder, ec);
    struct stat made {};
    if (!ec && ::lstat(folder.c_str(), &made) == 0) {
        const std::lock_guard lock(mutex_);
        mode_ = made.st_mode;
    }
    return ec;
}

bool artifact_folders::take_back_empty(const fs::path& folder) {
    if (!is_empty_folder(folder)) {
        return false;
    }
    {
        const std::lock_guard lock(mutex_);
        if (mode_ && kept_.size() < most_artifact_folders && is_as_we_made_it(folder, *mode_)) {
            kept_.push_back(folder);
            return true;
        }
    }
    return ::rmdir(folder.c_str()) == 0;
}

artifact_folders::~artifact_folders() {
    while (const auto kept = any_kept()) {
        ::rmdir(kept->c_str()); // what somebody filled meanwhile stays
    }
}

bool has_artifacts(const fs::path& folder) {
    std::error_code ec;
    return fs::exists(folder, ec) && !fs::is_empty(folder, ec) && !ec;
}

} // namespace chalk::actors
