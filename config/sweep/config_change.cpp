#include "config/sweep/config_change.hpp"

#include "config/config_files.hpp"
#include "config/key_table.hpp"
#include "config/nearest.hpp"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace chalk::config {

namespace {

std::vector<std::string> split_names(std::string_view dotted) {
    std::vector<std::string> names;
    for (;;) {
        const auto dot = dotted.find('.');
        names.emplace_back(dotted.substr(0, dot));
        if (dot == std::string_view::npos) {
            return names;
        }
        dotted.remove_prefix(dot + 1);
    }
}

std::string unknown_path(const std::string& dotted) {
    std::vector<std::string> known;
    for (const auto* spec : run_config_table().keys()) {
        known.emplace_back(spec->path);
    }
    if (const auto elsewhere = run_config_table().elsewhere(dotted)) {
        return fmt::format("a run config has no such key; did you mean \"{}\"?", *elsewhere);
    }
    return "a run config has no such key" + suggestion(dotted, known);
}

/// A value can be put below objects only.
result<void> check_way(const change_site& site, const key_path& target, const std::string& dotted) {
    json level = target.key->get(site.base);
    for (const auto& name : target.below) {
        if (!level.is_object()) {
            return site.document.at(site.path, fmt::format("cannot set {}: the base has no object on the way to it, "
                                                           "but {}",
                                                           dotted, preview(level)));
        }
        const auto found = level.find(name);
        if (found == level.end()) {
            return {};
        }
        level = json(*found);
    }
    return {};
}

result<json> resolve_value(const change_site& site, const key_path& target, const json& value) {
    if (target.key->path == "environment") {
        auto found = find_environment(value.get<std::string>(), site.folder);
        if (!found) {
            return site.document.at(site.path, found.error().message);
        }
        return {boost::system::in_place_value, found->string()};
    }
    if (target.key->kind == value_kind::script) {
        return find_script(site.document, site.path, value, site.folder,
                           fmt::format("{}: {}", site.document.place_of(site.path), site.path));
    }
    return {boost::system::in_place_value, value};
}

} // namespace

std::optional<key_path> find_key_path(std::string_view dotted) {
    const auto* rule = find_key(dotted);
    if (rule != nullptr && rule->set != nullptr) {
        return key_path{rule, {}, rule};
    }
    for (auto dot = dotted.find('.'); dot != std::string_view::npos; dot = dotted.find('.', dot + 1)) {
        const auto* around = find_key(dotted.substr(0, dot));
        if (around == nullptr || around->kind != value_kind::object || around->set == nullptr) {
            continue;
        }
        auto below = split_names(dotted.substr(dot + 1));
        for (const auto& name : below) {
            if (name.empty()) {
                return std::nullopt;
            }
        }
        return key_path{around, std::move(below), rule};
    }
    return std::nullopt;
}

void config_change::apply(run_config& config) const {
    if (target.below.empty()) {
        target.key->set(config, value);
        return;
    }
    json whole = target.key->get(config);
    json* level = &whole;
    for (const auto& name : target.below) {
        level = &(*level)[name];
    }
    *level = value;
    target.key->set(config, whole);
}

std::string_view why_not_in_a_sweep(std::string_view key) {
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> reasons = {{
        {"run_id", "a sweep names its runs itself"},
        {"transcript_file", "a sweep puts its transcripts into its own folder"},
        {"seed", "a sweep derives the seed of each repeat: set the sweep's own \"seed\", and \"repeat\" for more"},
        {"websocket_port", "the runs of a sweep serve no websocket"},
    }};
    for (const auto& [name, reason] : reasons) {
        if (name == key) {
            return reason;
        }
    }
    return {};
}

result<config_change> make_change(const change_site& site, const std::string& dotted, const json& value) {
    auto target = find_key_path(dotted);
    if (!target) {
        return site.document.at(site.path, unknown_path(dotted));
    }
    if (const auto why = why_not_in_a_sweep(target->key->path); !why.empty()) {
        return site.document.at(site.path, why);
    }
    if (target->rule != nullptr) {
        if (const auto wrong = check_value(*target->rule, value); !wrong.empty()) {
            return site.document.at(site.path, wrong);
        }
    }
    if (auto way = check_way(site, *target, dotted); !way) {
        return way.error();
    }
    auto resolved = resolve_value(site, *target, value);
    if (!resolved) {
        return resolved.error();
    }
    return config_change{dotted, std::move(*target), std::move(*resolved)};
}

} // namespace chalk::config
