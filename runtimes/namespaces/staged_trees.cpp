#include "runtimes/namespaces/staged_trees.hpp"

#include "runtimes/image/environment.hpp"
#include "runtimes/image/rootfs.hpp"

#include <utility>

namespace chalk::namespaces {

namespace {

template<class Key, class Stage>
result<shared_entry> get_or_stage(std::map<Key, shared_entry>& all, const Key& key, const Stage& stage) {
    if (const auto known = all.find(key); known != all.end()) {
        return known->second;
    }
    auto staged = stage();
    if (!staged) {
        return staged.error();
    }
    return all.emplace(key, share(std::move(*staged))).first->second;
}

} // namespace

result<shared_entry> staged_trees::environment(const environment_source& source, const image::tree_owners& owners) {
    const std::lock_guard lock(staging_);
    return get_or_stage(environments_, source.digest, [&] { return image::stage(cache_, source, owners); });
}

result<shared_entry> staged_trees::rootfs(const std::filesystem::path& source, const image::tree_owners& owners) {
    const std::lock_guard lock(staging_);
    return get_or_stage(rootfs_, source, [&] { return image::get_rootfs(cache_, source, owners); });
}

} // namespace chalk::namespaces
