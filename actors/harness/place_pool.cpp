#include "actors/harness/place_pool.hpp"

#include "actors/harness/left_places.hpp"
#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <memory>
#include <string_view>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_kept = 256;
/// The environment may run student code as another user: the folder can be passed through, but not listed.
constexpr mode_t root_mode = 0711;

result<fs::path> make_folder() {
    auto name = local_folder_template();
    if (::mkdtemp(name.data()) == nullptr) {
        return harness_failure(fmt::format("cannot make {}: {}", name, std::generic_category().message(errno)));
    }
    const fs::path folder = name;
    fs::path at = folder;
    bool made = ::chmod(name.c_str(), root_mode) == 0;
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

/// Whether `name` in the folder `parent` ("" is the root) is one of ours: those stay.
bool is_shape(std::string_view parent, std::string_view name) {
    return std::ranges::any_of(place_shapes, [&](const place_shape& one) {
        std::string_view path = one.path;
        if (!parent.empty()) {
            if (!path.starts_with(parent) || path.substr(parent.size(), 1) != "/") {
                return false;
            }
            path.remove_prefix(parent.size() + 1);
        }
        return path == name;
    });
}

/// A folder of our own as it was made, with nothing set that its next files would inherit.
bool is_as_made(int folder, mode_t mode) {
    struct stat found {};
    return ::fstat(folder, &found) == 0 && (found.st_mode & 07777U) == mode && found.st_uid == ::geteuid() &&
           found.st_gid == ::getegid() && ::flistxattr(folder, nullptr, 0) <= 0;
}

/// Leaves our own folders alone. False: it is not what it was made as, or something in it would not go.
bool empty_one(const fs::path& root, std::string_view shape, mode_t mode) {
    const fs::path folder = shape.empty() ? root : root / shape;
    // A link to a folder is none of ours.
    unique_fd opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!opened || !is_as_made(opened.get(), mode)) {
        return false;
    }
    const std::unique_ptr<DIR, int (*)(DIR*)> entries(::fdopendir(opened.get()), ::closedir);
    if (!entries) {
        return false;
    }
    (void)opened.release(); // closed with `entries`
    std::vector<fs::path> inside;
    errno = 0;
    while (const dirent* entry = ::readdir(entries.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != ".." && !is_shape(shape, name)) {
            inside.push_back(folder / name);
        }
    }
    std::error_code ec(errno, std::generic_category());
    for (auto one = inside.begin(); !ec && one != inside.end(); ++one) {
        fs::remove_all(*one, ec);
    }
    return !ec;
}

bool empty_out(const fs::path& root) {
    return empty_one(root, "", root_mode) && std::ranges::all_of(place_shapes, [&](const place_shape& one) {
               return empty_one(root, one.path, one.mode);
           });
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
