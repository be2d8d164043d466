#include "config/key_table.hpp"

#include <algorithm>
#include <utility>

namespace chalk::config {

namespace {

/// The path's last name and what stands before it.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? std::pair(std::string_view{}, path)
                                         : std::pair(path.substr(0, dot), path.substr(dot + 1));
}

} // namespace

key_table::key_table(std::vector<const key_spec*> keys, default_of value_of)
    : keys_(std::move(keys)), value_of_(std::move(value_of)) {}

const key_spec* key_table::find(std::string_view path) const {
    const auto found =
        std::find_if(keys_.begin(), keys_.end(), [&](const key_spec* spec) { return spec->path == path; });
    return found == keys_.end() ? nullptr : *found;
}

bool key_table::is_group(std::string_view path) const {
    return find(path) == nullptr && std::any_of(keys_.begin(), keys_.end(), [&](const key_spec* spec) {
               return split_path(spec->path).first == path;
           });
}

std::vector<std::string> key_table::names_in(std::string_view group) const {
    std::vector<std::string> names;
    for (const auto* spec : keys_) {
        const auto [parent, name] = split_path(spec->path);
        if (parent == group) {
            names.emplace_back(name);
        } else if (group.empty() && is_group(parent) && std::find(names.begin(), names.end(), parent) == names.end()) {
            names.emplace_back(parent);
        }
    }
    return names;
}

std::optional<std::string> key_table::elsewhere(std::string_view name) const {
    for (const auto* spec : keys_) {
        const auto [parent, last] = split_path(spec->path);
        if (!parent.empty() && last == name) {
            return std::string(spec->path);
        }
    }
    return std::nullopt;
}

const key_table& run_config_table() {
    static const key_table table = [] {
        std::vector<const key_spec*> keys;
        for (const auto& spec : run_config_keys()) {
            keys.push_back(&spec);
        }
        // The default as the loader has it, by asking a config that nobody filled.
        return key_table(std::move(keys),
                         [](const key_spec& spec) { return spec.get == nullptr ? json() : spec.get(run_config{}); });
    }();
    return table;
}

const key_spec* find_key(std::string_view path) {
    return run_config_table().find(path);
}

} // namespace chalk::config
