#include "protocol/store/folder_source.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/store/store_files.hpp"
#include "protocol/store/tree_rules.hpp"

#include <fmt/format.h>

#include <cerrno>

#include <fcntl.h>
#include <sys/stat.h>

namespace chalk::store {

result<folder_source> folder_source::open(const std::filesystem::path& folder, const tree_manifest& tree) {
    unique_fd root(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (!root) {
        return harness_failure(fmt::format("cannot open the folder {}: {}", folder.string(), errno_text()));
    }
    return folder_source(std::move(root), tree);
}

folder_source::folder_source(unique_fd root, const tree_manifest& tree) : root_(std::move(root)) {
    for (const auto& entry : tree.entries()) {
        if (entry.chunks.empty()) {
            continue;
        }
        for (std::size_t i = 0; i < entry.chunks.size(); ++i) {
            places_.try_emplace(entry.chunks[i], place{files_.size(), i * chunk_size.count,
                                                       static_cast<std::size_t>(size_of_chunk(entry.size, i).count)});
        }
        files_.push_back(entry.path);
    }
}

result<std::string> folder_source::read(const chunk_digest& name) const {
    const auto found = places_.find(name);
    if (found == places_.end()) {
        return harness_failure(fmt::format("chunk {} is not of this tree", name.hex()));
    }
    const auto& [file, offset, size] = found->second;
    const auto& path = files_[file];
    const auto parent = open_parent(root_.get(), path);
    const unique_fd fd(parent ? ::openat(parent.get(), last_component(path).c_str(),
                                         O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
                              : -1);
    struct stat about {};
    if (!fd || ::fstat(fd.get(), &about) != 0) {
        return harness_failure(fmt::format("{}: {}", dump_json(path), errno_text()));
    }
    auto data = S_ISREG(about.st_mode) ? read_up_to(fd.get(), size, static_cast<off_t>(offset)) : std::nullopt;
    if (!data || name_chunk(*data) != name) {
        return harness_failure(fmt::format("{}: changed since the tree was named", dump_json(path)));
    }
    return {boost::system::in_place_value, std::move(*data)};
}

} // namespace chalk::store
