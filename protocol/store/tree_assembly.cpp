#include "protocol/store/tree_assembly.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/place_tree.hpp"
#include "protocol/store/store_files.hpp"
#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace chalk::store {

namespace {

cache_trouble trouble_of_errno() noexcept {
    return errno == ENOSPC || errno == EDQUOT ? cache_trouble::full : cache_trouble::disk;
}

/// For calls that do not hand their errno on.
cache_trouble trouble_at(const std::filesystem::path& folder) noexcept {
    struct statvfs about {};
    const bool known = ::statvfs(folder.c_str(), &about) == 0 && about.f_blocks > 0;
    return known && (about.f_bavail == 0 || (about.f_files > 0 && about.f_favail == 0)) ? cache_trouble::full
                                                                                        : cache_trouble::disk;
}

/// True, or false with errno set.
bool write_whole_at(int fd, std::string_view data, std::uint64_t offset) {
    while (!data.empty()) {
        const auto written = ::pwrite(fd, data.data(), data.size(), static_cast<off_t>(offset));
        if (written < 0 && errno == EINTR) {
            continue;
        }
        if (written <= 0) {
            return false;
        }
        data.remove_prefix(static_cast<std::size_t>(written));
        offset += static_cast<std::uint64_t>(written);
    }
    return true;
}

} // namespace

tree_assembly::tree_assembly(const tree_manifest& tree, std::filesystem::path target, unfinished_folder folder)
    : tree_(tree), target_(std::move(target)), folder_(std::move(folder)) {
    const auto& entries = tree.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (std::size_t k = 0; k < entries[i].chunks.size(); ++k) {
            first_.try_emplace(entries[i].chunks[k], place{i, k});
        }
    }
}

cache_result<std::unique_ptr<tree_assembly>> tree_assembly::begin(const tree_manifest& tree,
                                                                  const std::filesystem::path& target) {
    auto folder = unfinished_folder::make(target);
    if (!folder) {
        return cache_failure{trouble_at(target.parent_path()), folder.error().message};
    }
    std::unique_ptr<tree_assembly> made(new tree_assembly(tree, target, std::move(*folder)));
    for (const auto& entry : tree.entries()) {
        if (!made->make_entry(entry)) {
            return made->trouble_with(entry);
        }
    }
    return made;
}

bool tree_assembly::make_entry(const tree_entry& entry) const {
    const auto parent = open_parent(folder_.fd(), entry.path);
    const auto name = last_component(entry.path);
    if (!parent) {
        return false;
    }
    switch (entry.kind) {
    case entry_kind::symlink:
        return ::symlinkat(entry.target.c_str(), parent.get(), name.c_str()) == 0;
    case entry_kind::folder: // the umask may have taken from what mkdirat was told
        return ::mkdirat(parent.get(), name.c_str(), 0755) == 0 && ::fchmodat(parent.get(), name.c_str(), 0755, 0) == 0;
    case entry_kind::file:
        break;
    }
    const unique_fd fd(
        ::openat(parent.get(), name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
    return fd && ::fchmod(fd.get(), entry.executable ? 0755 : 0644) == 0;
}

cache_failure tree_assembly::trouble_with(const tree_entry& entry) const {
    const auto code = trouble_of_errno();
    return {code, fmt::format("cannot make {} of {}: {}", dump_json(entry.path), target_.string(), errno_text())};
}

unique_fd tree_assembly::open_file(const tree_entry& entry, int flags) const {
    const auto parent = open_parent(folder_.fd(), entry.path);
    return unique_fd(parent ? ::openat(parent.get(), last_component(entry.path).c_str(),
                                       flags | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                            : -1);
}

cache_result<void> tree_assembly::write_at(const place& where, std::string_view data) const {
    const auto& entry = tree_.entries()[where.entry];
    const auto fd = open_file(entry, O_WRONLY);
    if (!fd || !write_whole_at(fd.get(), data, where.index * chunk_size.count)) {
        return trouble_with(entry);
    }
    return {};
}

cache_result<void> tree_assembly::put(const chunk_digest& name, std::string_view data) {
    const auto found = first_.find(name);
    if (found == first_.end()) {
        return cache_failure{cache_trouble::mismatch, fmt::format("chunk {} is not of this tree", name.hex())};
    }
    return write_at(found->second, data);
}

cache_result<void> tree_assembly::copy(const place& from, const place& to) const {
    const auto& source = tree_.entries()[from.entry];
    const auto fd = open_file(source, O_RDONLY);
    const auto data = fd ? read_up_to(fd.get(), static_cast<std::size_t>(size_of_chunk(source.size, from.index).count),
                                      static_cast<off_t>(from.index * chunk_size.count))
                         : std::nullopt;
    return data ? write_at(to, *data) : trouble_with(source);
}

cache_result<void> tree_assembly::finish(durability kept) {
    const auto& entries = tree_.entries();
    for (std::size_t i = 0; i < entries.size(); ++i) {
        for (std::size_t k = 0; k < entries[i].chunks.size(); ++k) {
            const auto& first = first_.at(entries[i].chunks[k]);
            if (first.entry == i && first.index == k) {
                continue;
            }
            if (auto copied = copy(first, {i, k}); !copied) {
                return copied;
            }
        }
    }
    if (auto placed = place_tree(tree_, std::move(folder_), target_, kept); !placed) {
        return cache_failure{trouble_at(target_.parent_path()), placed.error().message};
    }
    return {};
}

} // namespace chalk::store
