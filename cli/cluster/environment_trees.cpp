#include "cli/cluster/environment_trees.hpp"

#include "protocol/store/read_tree.hpp"
#include "runtimes/image/environment.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::cli {

namespace {

result<environment_tree> tree_of_environment(const std::filesystem::path& name, const environment_source& source) {
    store::read_tree_options options;
    options.leave_out = [](const std::string& path) { return image::is_left_out(path); };
    auto read = store::read_tree(source.folder, options);
    if (!read) {
        return read.error();
    }
    // A node makes the digest anew from what it has fetched, and refuses another one: better here, once, than there
    // for every run.
    const auto after = image::load_environment_source(source.folder);
    if (!after) {
        return after.error();
    }
    if (after->digest != source.digest) {
        return config_failure(fmt::format("{} was changed while the sweep was prepared: start again when nobody writes "
                                          "to it",
                                          source.folder.string()));
    }
    return environment_tree{name, source.folder, read->tree.digest(), read->tree.text()};
}

} // namespace

result<std::vector<environment_tree>> read_environment_trees(const sweep_site& site) {
    std::vector<environment_tree> trees;
    for (const auto& [name, one] : site.environments()) {
        if (name == config::noop_environment) {
            continue;
        }
        auto tree = tree_of_environment(name, one.prepared.environment);
        if (!tree) {
            return tree.error();
        }
        trees.push_back(std::move(*tree));
    }
    return trees;
}

} // namespace chalk::cli
