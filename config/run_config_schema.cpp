#include "config/fake_script.hpp"
#include "config/run_config.hpp"
#include "config/run_config_keys.hpp"

#include <fmt/format.h>

namespace chalk::config {

namespace {

/// The default as the loader has it, by asking a config that nobody filled.
json default_of(const key_spec& spec) {
    return spec.get == nullptr ? json() : spec.get(run_config{});
}

json schema_of(const key_spec& spec) {
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
        break;
    case value_kind::script:
        schema["anyOf"] = json::array({{{"type", "string"}}, fake_script_schema()});
        break;
    }
    if (!spec.required && spec.shown_default.empty()) {
        schema["default"] = default_of(spec);
    }
    return schema;
}

std::string shown_default(const key_spec& spec) {
    if (spec.required) {
        return "required";
    }
    return spec.shown_default.empty() ? fmt::format("`{}`", default_of(spec).dump()) : std::string(spec.shown_default);
}

} // namespace

json run_config_schema() {
    json schema = {{"$schema", "http://json-schema.org/draft-07/schema#"},
                   {"title", "chalk run config"},
                   {"type", "object"},
                   {"additionalProperties", false},
                   {"required", json::array()},
                   {"properties", json::object()}};
    for (const auto& spec : run_config_keys()) {
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

std::string run_config_markdown() {
    std::string out = "| Key | Value | Default | Meaning |\n|---|---|---|---|\n";
    for (const auto& spec : run_config_keys()) {
        out += fmt::format("| `{}` | {} | {} | {} |\n", spec.path, expectation(spec), shown_default(spec), spec.doc);
    }
    return out;
}

} // namespace chalk::config
