#include "actors/harness/place_pool.hpp"

#include "actors/harness/left_places.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iterator>
#include <system_error>

#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_kept = 256;

result<fs::path> make_folder() {
    auto name = local_folder_template();
    if (::mkdtemp(name.data()) == nullptr) {
        return harness_failure(fmt::format("cannot make {}: {}", name, std::generic_category().message(errno)));
    }
    const fs::path folder = name;
    // The environment may run student code as another user: the folder can be passed through, but not listed.
    fs::path at = folder;
    bool made = ::chmod(name.c_str(), 0711) == 0;
    for (const auto& [path, mode] : place_shapes) {
        if (made) {
            at = folder / path;
            made = ::mkdir(at.c_str(), 0700) == 0 && ::chmod(at.c_str(), mode) == 0;
        }
    }
    if (!made) {
        auto why =
            harness_failure(fmt::format("cannot make {}: {}", at.string(), std::generic_category().message(errno)));
        std::error_code ignored; // `chalk gc` finds what would not go
        fs::remove_all(folder, ignored);
        return why;
    }
    return folder;
}

/// Whether `folder` is one of ours, by its path in `root`: those stay.
bool is_shape(const fs::path& root, const fs::path& folder) {
    return std::ranges::any_of(place_shapes, [&](const place_shape& one) { return root / one.path == folder; });
}

/// A folder of our own as it was made, with nothing set that its next files would inherit; a link to one is not.
bool is_as_made(const fs::path& folder, mode_t mode) {
    struct stat found {};
    return ::lstat(folder.c_str(), &found) == 0 && S_ISDIR(found.st_mode) && (found.st_mode & 07777U) == mode &&
           found.st_uid == ::geteuid() && found.st_gid == ::getegid() && ::llistxattr(folder.c_str(), nullptr, 0) <= 0;
}

/// False: it is not what it was made as, or something in it would not go.
bool empty_out(const fs::path& root) {
    std::error_code ec;
    const auto remove_all_in = [&](const fs::path& folder) {
        std::vector<fs::path> inside;
        for (fs::directory_iterator entry(folder, ec), end; !ec && entry != end; entry.increment(ec)) {
            if (!is_shape(root, entry->path())) {
                inside.push_back(entry->path());
            }
        }
        for (auto one = inside.begin(); !ec && one != inside.end(); ++one) {
            fs::remove_all(*one, ec);
        }
    };
    if (!is_as_made(root, 0711)) {
        return false;
    }
    remove_all_in(root);
    for (const auto& [path, mode] : place_shapes) {
        if (ec || !is_as_made(root / path, mode)) {
            return false;
        }
        remove_all_in(root / path);
    }
    return !ec;
}

} // namespace

result<fs::path> place_pool::take() {
    {
        const std::lock_guard lock(mutex_);
        if (!kept_.empty()) {
            auto folder = std::move(kept_.back());
            kept_.pop_back();
            return folder;
        }
    }
    return make_folder();
}

result<void> place_pool::give_back(const fs::path& folder) {
    if (empty_out(folder)) {
        const std::lock_guard lock(mutex_);
        if (!closed_ && kept_.size() < most_kept) {
            kept_.push_back(folder);
            return {};
        }
    }
    return remove(folder);
}

result<void> place_pool::remove(const fs::path& folder) {
    std::error_code ec;
    fs::remove_all(folder, ec);
    if (ec) {
        return harness_failure(fmt::format("cannot remove {}: {}", folder.string(), ec.message()));
    }
    return {};
}

void place_pool::close() {
    std::vector<fs::path> kept;
    {
        const std::lock_guard lock(mutex_);
        closed_ = true;
        kept.swap(kept_);
    }
    for (const auto& folder : kept) {
        (void)remove(folder); // they are empty; `chalk gc` finds what would not go
    }
}

} // namespace chalk::actors
