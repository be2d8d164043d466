#include "protocol/store/chunk_cache.hpp"

#include "protocol/store/store_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace chalk::store {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t page_size = 4096;
constexpr std::size_t objects_a_folder = 1'000'000; ///< a bound on a listing, far above any cap

bytes on_disk(std::uint64_t size) noexcept {
    return {(size + page_size - 1) / page_size * page_size};
}

/// Objects lie in folders of two hex digits. Whatever else is among them is somebody else's.
bool is_shard_name(std::string_view name) noexcept {
    return name.size() == 2 && name.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_object(const struct stat& about) noexcept {
    return S_ISREG(about.st_mode) && static_cast<std::uint64_t>(about.st_size) <= max_manifest_text.count;
}

/// Set outright, since reading updates it only on some mounts. It is the file's place in the order of eviction; when it
/// cannot be set, the file goes earlier than it should.
void mark_used(int fd) noexcept {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now); // the kernel's own "now" is the last tick
    const timespec times[2] = {now, now};
    (void)::futimens(fd, times);
}

enum class condition {
    absent,
    damaged,
    unreadable, ///< for a reason of this process's, with errno set; the file may be sound
    sound,
};

/// `data` is set where it is sound.
condition read_object(const fs::path& file, const chunk_digest& name, std::string& data) {
    const unique_fd fd(::open(file.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!fd) {
        if (errno == ENOENT) {
            return condition::absent;
        }
        return errno == ELOOP || errno == ENXIO || errno == EIO ? condition::damaged : condition::unreadable;
    }
    struct stat about {};
    if (::fstat(fd.get(), &about) != 0) {
        return condition::unreadable;
    }
    if (!is_object(about)) {
        return condition::damaged;
    }
    auto read = read_up_to(fd.get(), static_cast<std::size_t>(about.st_size), 0);
    if (!read && errno != EIO) {
        return condition::unreadable;
    }
    if (!read || name_chunk(*read) != name) {
        return condition::damaged;
    }
    mark_used(fd.get());
    data = std::move(*read);
    return condition::sound;
}

} // namespace

struct chunk_cache::object {
    chunk_digest name;
    bytes size;
    timespec used{};
};

cache_result<std::unique_ptr<chunk_cache>> chunk_cache::open(const fs::path& folder, const cache_options& options) {
    std::unique_ptr<chunk_cache> made(new chunk_cache(folder, options));
    if (auto there = made->make_folders(); !there) {
        return there.error();
    }
    auto held = made->lock();
    if (!held) {
        return held.error();
    }
    if (auto counted = made->count(*held); !counted) {
        return counted.error();
    }
    if (auto pins = read_pins(folder / "pins"); !pins) { // removes those of the dead
        return pins.error();
    }
    return made;
}

cache_result<void> chunk_cache::make_folders() const {
    std::error_code error;
    fs::create_directories(folder_.parent_path(), error); // what fails shows below
    for (const auto& one : {folder_, folder_ / "objects", folder_ / "incoming", folder_ / "pins"}) {
        if (::mkdir(one.c_str(), 0700) != 0 && errno != EEXIST) {
            return disk_trouble("make", one);
        }
    }
    return {};
}

fs::path chunk_cache::path_of(const chunk_digest& name) const {
    const auto hex = name.hex();
    return folder_ / "objects" / hex.substr(0, 2) / hex;
}

cache_failure chunk_cache::disk_trouble(std::string_view doing, const fs::path& what) const {
    return {cache_trouble::disk, fmt::format("cannot {} {} of the cache: {}", doing, what.string(), errno_text())};
}

cache_result<cache_lock> chunk_cache::lock() {
    return cache_lock::take(folder_, mutex_, options_.lock_deadline);
}

void chunk_cache::empty_incoming() const {
    const unique_fd folder(::open((folder_ / "incoming").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const auto names = folder ? list_names(folder.get(), objects_a_folder) : std::nullopt;
    for (const auto& name : names.value_or(std::vector<std::string>())) {
        ::unlinkat(folder.get(), name.c_str(), 0); // what stays is in nobody's way, and is tried again
    }
}

cache_result<std::vector<chunk_cache::object>> chunk_cache::list_objects() const {
    std::vector<object> all;
    const unique_fd top(::open((folder_ / "objects").c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const auto shards = top ? list_names(top.get(), objects_a_folder) : std::nullopt;
    if (!shards) {
        return disk_trouble("list", folder_ / "objects");
    }
    for (const auto& shard : *shards) {
        if (!is_shard_name(shard)) {
            continue;
        }
        const unique_fd folder(::openat(top.get(), shard.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
        if (!folder && (errno == ENOTDIR || errno == ELOOP)) {
            continue; // no folder: there is nothing in it
        }
        const auto names = folder ? list_names(folder.get(), objects_a_folder) : std::nullopt;
        if (!names) {
            return disk_trouble("list", folder_ / "objects" / shard);
        }
        for (const auto& name : *names) {
            struct stat about {};
            const auto sum = parse_sha256(name);
            // In another folder than its own it is not found, and could not be removed.
            if (sum && name.starts_with(shard) &&
                ::fstatat(folder.get(), name.c_str(), &about, AT_SYMLINK_NOFOLLOW) == 0) {
                all.push_back({{*sum}, on_disk(static_cast<std::uint64_t>(about.st_size)), about.st_mtim});
            }
        }
    }
    return all;
}

cache_result<bytes> chunk_cache::count(cache_lock& held) const {
    empty_incoming();
    const auto all = list_objects();
    if (!all) {
        return all.error();
    }
    bytes total;
    for (const auto& one : *all) {
        total = total + one.size;
    }
    if (auto noted = held.end_change(total); !noted) {
        return noted.error();
    }
    return total;
}

cache_result<bytes> chunk_cache::make_room(cache_lock& held, bytes total, bytes needed) const {
    if (total + needed <= options_.cap) {
        return total;
    }
    auto all = list_objects();
    if (!all) {
        return all.error();
    }
    const auto pinned = read_pins(folder_ / "pins");
    if (!pinned) {
        return pinned.error();
    }
    total = {};
    bytes kept;
    for (const auto& one : *all) {
        total = total + one.size;
        kept = kept + (pinned->contains(one.name) ? one.size : bytes{0});
    }
    if (kept + needed > options_.cap) {
        return cache_failure{cache_trouble::full,
                             fmt::format("the cache {} is full: of its {} bytes {} are in use by runs, and {} more are "
                                         "needed; raise its cap, or let fewer runs be alive at once",
                                         folder_.string(), options_.cap.count, kept.count, needed.count)};
    }
    std::sort(all->begin(), all->end(), [](const object& a, const object& b) {
        return std::tie(a.used.tv_sec, a.used.tv_nsec) < std::tie(b.used.tv_sec, b.used.tv_nsec);
    });
    if (auto begun = held.begin_change(); !begun) {
        return begun.error();
    }
    // A little more than is needed: listing all files for each new one would cost more than the one.
    const bytes spare{options_.cap.count / 32 / chunk_size.count * chunk_size.count};
    for (const auto& one : *all) {
        if (total + needed + spare <= options_.cap) {
            break;
        }
        if (!pinned->contains(one.name) && ::unlink(path_of(one.name).c_str()) == 0) {
            total = total - one.size;
        }
    }
    if (total + needed > options_.cap) {
        return disk_trouble("remove files", folder_ / "objects");
    }
    return total;
}

cache_result<void> chunk_cache::write_object(const chunk_digest& name, std::string_view data) const {
    const auto target = path_of(name);
    const auto part = folder_ / "incoming" / name.hex();
    if (::mkdir(target.parent_path().c_str(), 0700) != 0 && errno != EEXIST) {
        return disk_trouble("make", target.parent_path());
    }
    ::unlink(part.c_str()); // of a write that failed and could not be undone
    const unique_fd fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400));
    if (!fd) {
        return disk_trouble("make", part);
    }
    if (!write_whole(fd.get(), data)) {
        auto why = disk_trouble("write", part);
        ::unlink(part.c_str());
        return why;
    }
    mark_used(fd.get());
    if (::rename(part.c_str(), target.c_str()) != 0) {
        auto why = disk_trouble("name", part);
        ::unlink(part.c_str());
        return why;
    }
    return {};
}

cache_result<bytes> chunk_cache::remove_object(cache_lock& held, const chunk_digest& name) const {
    if (auto begun = held.begin_change(); !begun) {
        return begun.error();
    }
    std::error_code error;
    fs::remove_all(path_of(name), error); // it may be anything
    if (error) {
        return cache_failure{cache_trouble::disk, fmt::format("cannot remove the damaged {} from the cache: {}",
                                                              path_of(name).string(), error.message())};
    }
    return count(held);
}

cache_result<void> chunk_cache::put(const chunk_digest& name, std::string_view data) {
    if (data.size() > max_manifest_text.count || name_chunk(data) != name) {
        return cache_failure{cache_trouble::mismatch, fmt::format("{} bytes that are not {}", data.size(), name.hex())};
    }
    auto held = lock();
    if (!held) {
        return held.error();
    }
    const auto noted = held->read_total();
    auto total = noted ? cache_result<bytes>(*noted) : count(*held);
    if (!total) {
        return total.error();
    }
    std::string there;
    switch (read_object(path_of(name), name, there)) {
    case condition::sound:
        return {};
    case condition::unreadable:
        return disk_trouble("read", path_of(name));
    case condition::damaged:
        total = remove_object(*held, name);
        break;
    case condition::absent:
        break;
    }
    if (!total) {
        return total.error();
    }
    const auto size = on_disk(data.size());
    const auto after = make_room(*held, *total, size);
    if (!after) {
        return after.error();
    }
    if (auto begun = held->begin_change(); !begun) {
        return begun.error();
    }
    if (auto written = write_object(name, data); !written) {
        (void)held->end_change(*after); // or the next one counts
        return written.error();
    }
    return held->end_change(*after + size);
}

cache_result<void> chunk_cache::put(const tree_manifest& tree) {
    return put(chunk_digest{tree.digest().sum}, tree.text());
}

cache_result<std::optional<std::string>> chunk_cache::get(const chunk_digest& name) {
    std::string data;
    switch (read_object(path_of(name), name, data)) {
    case condition::sound:
        return std::optional(std::move(data));
    case condition::unreadable:
        return disk_trouble("read", path_of(name));
    case condition::damaged:
        if (auto removed = remove_damaged(name); !removed) {
            return removed.error();
        }
        break;
    case condition::absent:
        break;
    }
    return std::optional<std::string>();
}

cache_result<std::optional<tree_manifest>> chunk_cache::get(const tree_digest& name) {
    const auto text = get(chunk_digest{name.sum});
    if (!text) {
        return text.error();
    }
    if (!*text) {
        return std::optional<tree_manifest>();
    }
    auto tree = tree_manifest::parse(**text);
    return tree ? std::optional(std::move(*tree)) : std::nullopt; // a chunk that is no manifest
}

bool chunk_cache::holds(const chunk_need& what) const {
    struct stat about {};
    return ::lstat(path_of(what.name).c_str(), &about) == 0 && is_object(about) &&
           static_cast<std::uint64_t>(about.st_size) == what.size.count;
}

cache_result<void> chunk_cache::remove_damaged(const chunk_digest& name) {
    auto held = lock();
    if (!held) {
        return held.error();
    }
    std::string mended;
    if (read_object(path_of(name), name, mended) != condition::damaged) {
        return {};
    }
    auto removed = remove_object(*held, name);
    return removed ? cache_result<void>() : removed.error();
}

cache_result<cache_pin> chunk_cache::pin(const std::vector<chunk_digest>& chunks) {
    auto held = lock();
    if (!held) {
        return held.error();
    }
    return cache_pin::make(folder_ / "pins", chunks);
}

cache_result<cache_pin> chunk_cache::pin(const tree_manifest& tree) {
    std::vector<chunk_digest> names{{tree.digest().sum}};
    for (const auto& one : tree.chunks()) {
        names.push_back(one.name);
    }
    return pin(names);
}

cache_result<cache_usage> chunk_cache::usage() {
    auto held = lock();
    if (!held) {
        return held.error();
    }
    const auto all = list_objects();
    if (!all) {
        return all.error();
    }
    cache_usage found{{}, all->size()};
    for (const auto& one : *all) {
        found.total = found.total + one.size;
    }
    return found;
}

} // namespace chalk::store
