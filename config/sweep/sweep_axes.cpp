#include "config/sweep/sweep_axes.hpp"

#include "config/key_table.hpp"
#include "config/nearest.hpp"
#include "config/sweep/members.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

/// Reads the axes one after the other.
class axes_reader {
  public:
    axes_reader(const json_document& document, const fs::path& folder, const run_config& base)
        : document_(document), folder_(folder), base_(base) {}

    result<loaded_axes> read(const json& axes) {
        const auto lists = members_of(document_, axes, "axes", [](const std::string& name) {
            const auto target = find_key_path(name);
            return run_config_table().is_group(name) ||
                   (target && (target->rule == nullptr || target->rule->kind == value_kind::object));
        });
        for (const auto& list : lists) {
            if (auto read = read_axis(list); !read) {
                return read.error();
            }
        }
        return std::move(loaded_);
    }

  private:
    result<void> read_axis(const member& axis) {
        if (!axis.value->is_array() || axis.value->empty()) {
            return document_.at(axis.path,
                                fmt::format("expected a list of at least one value, got {}",
                                            axis.value->is_array() ? "an empty list" : preview(*axis.value)));
        }
        sweep_axis made{axis.name, {}};
        std::vector<axis_change> changes;
        std::map<std::string, std::size_t> seen;
        const bool is_key = find_key_path(axis.name).has_value();
        for (std::size_t i = 0; i < axis.value->size(); ++i) {
            const auto path = join_path(axis.path, i);
            std::vector<member> keys = {{axis.name, path, &(*axis.value)[i]}};
            if (!is_key) {
                auto members = keys_of(axis, path, (*axis.value)[i]);
                if (!members) {
                    return members.error();
                }
                keys = std::move(*members);
            }
            json assignment = json::object();
            axis_change change{{}, document_.place_of(path)};
            for (const auto& key : keys) {
                auto one = make_change({document_, key.path, folder_, base_}, key.name, *key.value);
                if (!one) {
                    return one.error();
                }
                change.keys.push_back(std::move(*one));
                assignment[key.name] = *key.value;
            }
            const auto [first, fresh] = seen.emplace(dump_json(assignment), i);
            if (!fresh) {
                return document_.at(path, fmt::format("the same value as {}", join_path(axis.path, first->second)));
            }
            if (auto apart = keep_apart(axis.name, assignment, path); !apart) {
                return apart;
            }
            made.values.push_back(std::move(assignment));
            changes.push_back(std::move(change));
        }
        for (const auto& value : made.values) {
            for (const auto& [key, unused] : value.items()) {
                owners_.emplace(key, axis.name);
            }
        }
        loaded_.axes.push_back(std::move(made));
        loaded_.changes.push_back(std::move(changes));
        return {};
    }

    /// Of an axis that moves several keys: the keys of one of its values.
    result<std::vector<member>> keys_of(const member& axis, const std::string& path, const json& value) const {
        if (!value.is_object()) {
            std::vector<std::string> known;
            for (const auto* spec : run_config_table().keys()) {
                known.emplace_back(spec->path);
            }
            const auto meant = run_config_table().elsewhere(axis.name);
            const auto near = meant ? meant : nearest(axis.name, known);
            return document_.at(path, fmt::format("\"{}\" is no key of a run config, so its values must be objects of "
                                                  "keys, got {}{}",
                                                  axis.name, preview(value),
                                                  near ? fmt::format("; did you mean \"{}\"?", *near) : ""));
        }
        return members_of(document_, value, path,
                          [](const std::string& name) { return run_config_table().is_group(name); });
    }

    /// No key may be set twice in one cell, nor may one stand inside another: what counts would depend on an order.
    result<void> keep_apart(const std::string& axis, const json& assignment, const std::string& path) const {
        for (const auto& [key, value] : assignment.items()) {
            for (auto dot = key.find('.'); dot != std::string::npos; dot = key.find('.', dot + 1)) {
                if (assignment.contains(key.substr(0, dot))) {
                    return document_.at(path, fmt::format("sets \"{}\" and \"{}\"", key.substr(0, dot), key));
                }
                if (const auto owner = owners_.find(key.substr(0, dot)); owner != owners_.end()) {
                    return twice(axis, key, *owner, path);
                }
            }
            // The first key that could stand inside this one.
            const auto inside = owners_.lower_bound(key + ".");
            if (inside != owners_.end() && inside->first.starts_with(key + ".")) {
                return twice(axis, key, *inside, path);
            }
            if (const auto owner = owners_.find(key); owner != owners_.end()) {
                return twice(axis, key, *owner, path);
            }
        }
        return {};
    }

    failure twice(const std::string& axis, const std::string& key,
                  const std::pair<const std::string, std::string>& other, const std::string& path) const {
        return document_.at(path, fmt::format("axis \"{}\" sets \"{}\", but axis \"{}\" already sets \"{}\"", axis, key,
                                              other.second, other.first));
    }

    const json_document& document_;
    const fs::path& folder_;
    const run_config& base_;
    loaded_axes loaded_;
    std::map<std::string, std::string> owners_; ///< the axis that sets a key, of the axes before this one
};

} // namespace

result<loaded_axes> load_axes(const json_document& document, const fs::path& folder, const run_config& base) {
    const auto axes = document.value.find("axes");
    if (axes == document.value.end()) {
        return loaded_axes{};
    }
    return axes_reader(document, folder, base).read(*axes);
}

} // namespace chalk::config
