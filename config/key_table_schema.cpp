#include "config/fake_script.hpp"
#include "config/key_table.hpp"
#include "config/run_config.hpp"

#include <fmt/format.h>

namespace chalk::config {

json key_table::schema_of(const key_spec& spec) const {
    json schema = {{"description", spec.doc}};
    const auto type = [&](const char* name) { return spec.nullable ? json{name, "null"} : json(name); };
    switch (spec.kind) {
    case value_kind::text:
        schema["type"] = type("string");
        if (!spec.choices.empty()) {
            schema["enum"] = spec.choices;
        }
        if (!spec.pattern.empty()) {
            schema["pattern"] = spec.pattern;
        }
        if (spec.required) {
            schema["minLength"] = 1;
        }
        break;
    case value_kind::boolean:
        schema["type"] = type("boolean");
        break;
    case value_kind::whole_number:
        schema["type"] = type("integer");
        schema["minimum"] = spec.minimum;
        schema["maximum"] = spec.maximum;
        break;
    case value_kind::amount:
        schema["type"] = type("number");
        schema["exclusiveMinimum"] = 0;
        schema["maximum"] = spec.maximum;
        break;
    case value_kind::object:
        schema["type"] = type("object");
        break;
    case value_kind::text_list:
        schema["type"] = type("array");
        schema["items"] = {{"type", "string"}};
        if (!spec.choices.empty()) {
            schema["items"]["enum"] = spec.choices;
        }
        break;
    case value_kind::script:
        schema["anyOf"] = json::array({{{"type", "string"}}, fake_script_schema()});
        break;
    case value_kind::run_config_or_path: {
        auto config = run_config_schema();
        config.erase("$schema");
        config.erase("required"); // an axis may give what is missing
        schema["anyOf"] = json::array({{{"type", "string"}, {"minLength", 1}}, std::move(config)});
        break;
    }
    case value_kind::axes:
        schema["type"] = "object";
        schema["additionalProperties"] = {
            {"anyOf", json::array({{{"type", "array"}, {"minItems", 1}}, {{"type", "object"}}})}};
        break;
    case value_kind::filters:
        schema["type"] = "array";
        schema["items"] = {{"type", "object"}};
        break;
    }
    if (!spec.required && spec.shown_default.empty()) {
        schema["default"] = value_of_(spec);
    }
    return schema;
}

std::string key_table::default_text(const key_spec& spec) const {
    if (spec.required) {
        return "required";
    }
    return spec.shown_default.empty() ? fmt::format("`{}`", value_of_(spec).dump()) : std::string(spec.shown_default);
}

json key_table::schema(std::string_view title) const {
    json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                   {"title", title},
                   {"type", "object"},
                   {"additionalProperties", false},
                   {"required", json::array()},
                   {"properties", json::object()}};
    for (const auto* key : keys_) {
        const auto& spec = *key;
        const auto dot = spec.path.find('.');
        if (dot == std::string_view::npos) {
            schema["properties"][std::string(spec.path)] = schema_of(spec);
            if (spec.required) {
                schema["required"].push_back(spec.path);
            }
            continue;
        }
        const std::string group(spec.path.substr(0, dot));
        auto& level = schema["properties"][group];
        level["type"] = "object";
        if (is_group(group)) {
            level["additionalProperties"] = false;
        }
        level["properties"][std::string(spec.path.substr(dot + 1))] = schema_of(spec);
    }
    return schema;
}

std::string key_table::markdown() const {
    std::string out = "| Key | Value | Default | Meaning |\n|---|---|---|---|\n";
    for (const auto* spec : keys_) {
        out += fmt::format("| `{}` | {} | {} | {} |\n", spec->path, expectation(*spec), default_text(*spec), spec->doc);
    }
    return out;
}

json run_config_schema() {
    return run_config_table().schema("chalk run config");
}

std::string run_config_markdown() {
    return run_config_table().markdown();
}

} // namespace chalk::config
