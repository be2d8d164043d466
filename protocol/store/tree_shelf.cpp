#include "protocol/store/tree_shelf.hpp"

#include <algorithm>

namespace chalk::store {

void tree_shelf::put(const tree_manifest& tree, const std::filesystem::path& folder) {
    auto text = std::make_shared<const std::string>(tree.text());
    const std::lock_guard held(mutex_);
    auto& places = trees_[tree.digest()];
    if (!places.empty()) {
        text = places.front()->text; // one text, however often the tree is here
    }
    if (std::none_of(places.begin(), places.end(), [&](const auto& one) { return one->folder == folder; })) {
        places.push_back(std::make_shared<const shelved_tree>(shelved_tree{std::move(text), folder}));
    }
}

void tree_shelf::remove(const tree_digest& tree, const std::filesystem::path& folder) {
    const std::lock_guard held(mutex_);
    const auto found = trees_.find(tree);
    if (found == trees_.end()) {
        return;
    }
    std::erase_if(found->second, [&](const auto& one) { return one->folder == folder; });
    if (found->second.empty()) {
        trees_.erase(found);
    }
}

std::shared_ptr<const shelved_tree> tree_shelf::find(const tree_digest& tree) const {
    const std::lock_guard held(mutex_);
    const auto found = trees_.find(tree);
    return found == trees_.end() ? nullptr : found->second.back();
}

} // namespace chalk::store
