#include "actors/run/artifact_folders.hpp"

#include "protocol/core/unique_fd.hpp"

#include <algorithm>
#include <cstdio>

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_artifact_folders = 256;

bool is_empty_folder(const fs::path& folder) {
    std::error_code ec;
    return fs::is_empty(folder, ec) && !ec;
}

} // namespace

std::optional<artifact_folders::likeness> artifact_folders::look_at(const fs::path& folder) {
    const unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!opened || ::fstat(opened.get(), &found) != 0 || found.st_uid != ::geteuid() || found.st_gid != ::getegid() ||
        ::flistxattr(opened.get(), nullptr, 0) > 0) {
        return std::nullopt;
    }
    likeness like{found.st_mode, found.st_size, found.st_blocks, 0};
    (void)::ioctl(opened.get(), FS_IOC_GETFLAGS, &like.flags); // a file system without them leaves 0
    return like;
}

std::error_code artifact_folders::make(const fs::path& folder) {
    const std::lock_guard lock(mutex_);
    // An earlier attempt's, should it be among those: no other run may have it now.
    std::erase(kept_, folder);
    std::error_code ec;
    if (fs::exists(folder, ec) || ec) {
        return ec || fs::is_directory(folder, ec) ? ec : std::make_error_code(std::errc::not_a_directory);
    }
    if (!kept_.empty()) {
        const fs::path kept = std::move(kept_.back());
        kept_.pop_back();
        // Somebody may have put something there meanwhile: then it is theirs.
        if (is_empty_folder(kept) && ::rename(kept.c_str(), folder.c_str()) == 0) {
            return {};
        }
        ::rmdir(kept.c_str());
    }
    fs::create_directories(folder, ec);
    if (!ec && !new_one_) {
        new_one_ = look_at(folder);
    }
    return ec;
}

bool artifact_folders::take_back_empty(const fs::path& folder, bool nobody_writes) {
    if (!is_empty_folder(folder)) {
        return false;
    }
    if (nobody_writes) {
        const std::lock_guard lock(mutex_);
        if (new_one_ && kept_.size() < most_artifact_folders && look_at(folder) == new_one_) {
            kept_.push_back(folder);
            return true;
        }
    }
    return ::rmdir(folder.c_str()) == 0;
}

artifact_folders::~artifact_folders() {
    for (const fs::path& kept : kept_) {
        ::rmdir(kept.c_str()); // what somebody filled meanwhile stays
    }
}

bool has_artifacts(const fs::path& folder) {
    std::error_code ec;
    return fs::exists(folder, ec) && !fs::is_empty(folder, ec) && !ec;
}

} // namespace chalk::actors
