#include "protocol/store/shelf_reader.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::store {

result<std::string> shelf_reader::read(const tree_digest& tree, const chunk_digest& chunk) {
    if (auto opened = bring_to_front(tree); !opened) {
        return opened.error();
    }
    auto data = open_.front().source.read(chunk);
    if (!data) {
        open_.pop_front(); // the tree may be put again, out of another folder
    }
    return data;
}

result<void> shelf_reader::bring_to_front(const tree_digest& tree) {
    const auto found = std::find_if(open_.begin(), open_.end(), [&](const open_tree& one) { return one.tree == tree; });
    if (found != open_.end()) {
        open_.splice(open_.begin(), open_, found);
        return {};
    }
    const auto shelved = shelf_->find(tree);
    if (!shelved) {
        return harness_failure(fmt::format("the tree {} is not here", tree.hex()));
    }
    const auto manifest = tree_manifest::parse(*shelved->text);
    if (!manifest) {
        return manifest.error();
    }
    auto source = folder_source::open(shelved->folder, *manifest);
    if (!source) {
        return source.error();
    }
    open_.push_front({tree, std::move(*source)});
    if (open_.size() > most_open) {
        open_.pop_back();
    }
    return {};
}

} // namespace chalk::store
