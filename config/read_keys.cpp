#include "config/read_keys.hpp"

#include "config/nearest.hpp"
#include "config/toml_document.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

bool is_json_text(std::string_view source) {
    const auto first = source.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && source[first] == '{';
}

/// Every key of a level must be a row of the table or a group, in the file's terms.
result<void> check_names(const json_document& document, const key_table& table, const json& level,
                         const std::string& group) {
    const auto known = table.names_in(group);
    for (const auto& [name, value] : level.items()) {
        const auto path = join_path(group, name);
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return document.at(path, unknown_key(table, group, name));
        }
        if (!table.is_group(path)) {
            continue;
        }
        if (!value.is_object()) {
            return document.at(path, fmt::format("expected an object, got {}", preview(value)));
        }
        if (auto checked = check_names(document, table, value, path); !checked) {
            return checked;
        }
    }
    return {};
}

/// The value at "group.name" of the document, or null.
const json* find_value(const json& document, std::string_view path) {
    const auto dot = path.find('.');
    const auto found = document.find(path.substr(0, dot));
    if (found == document.end()) {
        return nullptr;
    }
    return dot == std::string_view::npos ? &*found : find_value(*found, path.substr(dot + 1));
}

const override_value* find_override(const std::vector<override_value>& overrides, std::string_view path) {
    // The last flag stands, as on any command line.
    const auto found =
        std::find_if(overrides.rbegin(), overrides.rend(), [&](const override_value& one) { return one.key == path; });
    return found == overrides.rend() ? nullptr : &*found;
}

} // namespace

std::string unknown_key(const key_table& table, const std::string& group, const std::string& name) {
    const auto known = table.names_in(group);
    if (const auto elsewhere = table.elsewhere(name)) {
        return fmt::format("unknown key; did you mean \"{}\"?", *elsewhere);
    }
    if (const auto meant = nearest(name, known); meant && !group.empty()) {
        return fmt::format("unknown key; did you mean \"{}\"?", join_path(group, *meant));
    }
    return "unknown key" + suggestion(name, known);
}

result<json_document> read_config_file(const fs::path& file) {
    auto text = read_file(file, largest_config);
    if (!text) {
        return text.error();
    }
    return file.extension() == ".toml" ? read_toml_document(*text, file.string())
                                       : read_json_document(*text, file.string());
}

result<config_source> read_config_source(const std::string& source) {
    const bool is_text = is_json_text(source);
    auto document = is_text ? read_json_document(source, "--config") : read_config_file(source);
    if (!document) {
        return document.error();
    }
    return config_source{std::move(*document), is_text ? fs::path() : fs::path(source).parent_path()};
}

result<provenance> read_keys(const json_document& document, const key_table& table, const read_rules& rules,
                             const std::function<void(const key_spec&, const json&)>& set) {
    if (!document.value.is_object()) {
        return document.at("", fmt::format("expected an object, got {}", preview(document.value)));
    }
    if (auto checked = check_names(document, table, document.value, ""); !checked) {
        return checked.error();
    }
    for (const auto& one : rules.overrides) {
        if (table.find(one.key) == nullptr) {
            return config_failure(fmt::format("{}: there is no key \"{}\"", one.flag, one.key));
        }
    }
    provenance sources;
    for (const auto* spec : table.keys()) {
        const std::string path(spec->path);
        if (const auto* flag = find_override(rules.overrides, path)) {
            if (const auto wrong = check_value(*spec, flag->value); !wrong.empty()) {
                return config_failure(fmt::format("{}: {}", flag->flag, wrong));
            }
            sources[path] = flag->flag;
            set(*spec, flag->value);
        } else if (const auto* value = find_value(document.value, path)) {
            if (const auto wrong = check_value(*spec, *value); !wrong.empty()) {
                return document.at(path, wrong);
            }
            sources[path] = document.place_of(path);
            set(*spec, *value);
        } else if (spec->required && rules.required_too) {
            return config_failure(fmt::format("{}: {}: this key is missing; expected {}", document.name,
                                              document.full_path(path), expectation(*spec)));
        } else {
            sources[path] = "default";
        }
    }
    return sources;
}

} // namespace chalk::config
