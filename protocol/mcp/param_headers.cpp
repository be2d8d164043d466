#include "protocol/mcp/param_headers.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/stateless.hpp"

#include <boost/beast/core/string.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace chalk::mcp {
namespace {

constexpr const char* annotation_key = "x-mcp-header";
/// 2^53 - 1: beyond it a JavaScript client rounds.
constexpr double largest_safe_integer = 9'007'199'254'740'991.0;

/// Keywords of JSON Schema below which other schemas are: one, a list, or by name. `items` may be one or a list.
constexpr std::array<std::string_view, 12> keywords_of_one = {"items",
                                                              "additionalItems",
                                                              "unevaluatedItems",
                                                              "contains",
                                                              "additionalProperties",
                                                              "unevaluatedProperties",
                                                              "not",
                                                              "propertyNames",
                                                              "if",
                                                              "then",
                                                              "else",
                                                              "contentSchema"};
constexpr std::array<std::string_view, 5> keywords_of_lists = {"items", "prefixItems", "allOf", "anyOf", "oneOf"};
constexpr std::array<std::string_view, 5> keywords_of_maps = {"patternProperties", "definitions", "$defs",
                                                              "dependencies", "dependentSchemas"};

bool is_header_token(std::string_view text) {
    static constexpr std::string_view marks = "!#$%&'*+-.^_`|~"; // RFC 9110, section 5.6.2
    return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
               marks.find(c) != std::string_view::npos;
    });
}

/// A text, an integer, a boolean, or a choice of these and null.
bool is_mirrorable_type(const json& type) {
    if (type.is_array()) {
        return type != json::array({"null"}) && !type.empty() &&
               std::all_of(type.begin(), type.end(), [](const json& one) {
                   return one == "null" || (one.is_string() && is_mirrorable_type(one));
               });
    }
    return type == "string" || type == "integer" || type == "boolean";
}

/// Looks through a schema and everything in it. Recurses as deep as the schema is nested, which whoever parsed it
/// bounded.
class mirror_search {
  public:
    result<void> look(const json& schema, bool by_properties_alone) {
        if (!schema.is_object()) {
            return {};
        }
        if (const auto name = schema.find(annotation_key); name != schema.end()) {
            if (auto taken = take(schema, *name, by_properties_alone); !taken) {
                return taken;
            }
        }
        if (const auto properties = schema.find("properties"); properties != schema.end() && properties->is_object()) {
            for (const auto& [key, inner] : properties->items()) {
                path_.push_back(key);
                if (auto looked = look(inner, by_properties_alone); !looked) {
                    return looked;
                }
                path_.pop_back();
            }
        }
        return look_elsewhere(schema);
    }

    std::vector<mirrored_parameter> found;

  private:
    result<void> take(const json& schema, const json& name, bool by_properties_alone) {
        const auto wrong = [this](std::string_view why) {
            return task_failure(fmt::format("{} of {}: {}", annotation_key,
                                            path_.empty() ? "the schema" : fmt::format("{}", fmt::join(path_, ".")),
                                            why));
        };
        if (!by_properties_alone || path_.empty()) {
            return wrong("only a parameter that is reached by \"properties\" alone can have it");
        }
        if (!name.is_string() || !is_header_token(name.get_ref<const std::string&>())) {
            return wrong("it is a part of a header's name: letters, digits and marks as '-' and '_', at least one");
        }
        if (!schema.contains("type") || !is_mirrorable_type(schema["type"])) {
            return wrong("only a parameter of \"type\" string, integer or boolean can have it");
        }
        const auto& text = name.get_ref<const std::string&>();
        if (std::any_of(found.begin(), found.end(),
                        [&](const mirrored_parameter& one) { return boost::beast::iequals(one.name, text); })) {
            return wrong(fmt::format("another parameter has \"{}\" too", text));
        }
        found.push_back({text, path_});
        return {};
    }

    result<void> look_elsewhere(const json& schema) {
        for (const auto key : keywords_of_one) {
            if (const auto inner = schema.find(key); inner != schema.end()) {
                if (auto looked = look(*inner, false); !looked) {
                    return looked;
                }
            }
        }
        const auto look_into = [&](std::string_view key, bool wanted_list) -> result<void> {
            const auto inner = schema.find(key);
            if (inner == schema.end() || (wanted_list ? !inner->is_array() : !inner->is_object())) {
                return {};
            }
            for (const auto& one : *inner) {
                if (auto looked = look(one, false); !looked) {
                    return looked;
                }
            }
            return {};
        };
        for (const auto key : keywords_of_lists) {
            if (auto looked = look_into(key, true); !looked) {
                return looked;
            }
        }
        for (const auto key : keywords_of_maps) {
            if (auto looked = look_into(key, false); !looked) {
                return looked;
            }
        }
        return {};
    }

    std::vector<std::string> path_;
};

/// The argument at `path`; null: there is none.
const json& argument_at(const json& arguments, const std::vector<std::string>& path) {
    static const json none;
    const json* at = &arguments;
    for (const auto& key : path) {
        if (!at->is_object()) {
            return none;
        }
        const auto found = at->find(key);
        if (found == at->end()) {
            return none;
        }
        at = &*found;
    }
    return *at;
}

/// JSON Schema takes 42.0 for an integer too.
bool is_whole_number(const json& value) {
    return value.is_number() && std::trunc(value.get<double>()) == value.get<double>();
}

bool must_be_mirrored(const json& value) {
    return value.is_string() || value.is_boolean() || is_whole_number(value);
}

/// Numbers as numbers: `42.0` is `42`.
bool says_the_same(const std::string& text, const json& value) {
    if (value.is_string()) {
        return text == value.get_ref<const std::string&>();
    }
    if (value.is_boolean()) {
        return text == (value.get<bool>() ? "true" : "false");
    }
    if (!value.is_number()) {
        return false;
    }
    const auto number = parse_json(text);
    return number && number->is_number() && number->get<double>() == value.get<double>() &&
           std::abs(value.get<double>()) <= largest_safe_integer;
}

/// RFC 9110, section 5.5: what stands in a header is visible ASCII, spaces and tabs. All else comes as base64.
bool is_plain_header_text(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

} // namespace

result<std::vector<mirrored_parameter>> find_mirrored(const json& schema) {
    mirror_search search;
    if (auto looked = search.look(schema, true); !looked) {
        return looked.error();
    }
    return std::move(search.found);
}

std::optional<rpc_failure> check_param_headers(const header& request, const std::vector<mirrored_parameter>& mirrored,
                                               const json& arguments) {
    for (const auto& one : mirrored) {
        const auto name = "Mcp-Param-" + one.name;
        const auto wrong = [&](std::string_view why) {
            return rpc_failure{rpc_error::header_mismatch,
                               fmt::format("the {} header {} the argument {}", name, why, fmt::join(one.path, ".")),
                               nullptr};
        };
        const auto& value = argument_at(arguments, one.path);
        const auto count = request.count(name);
        if (count == 0) {
            if (must_be_mirrored(value)) {
                return wrong("is missing, which repeats");
            }
            continue;
        }
        if (value.is_null()) {
            return wrong("is there without");
        }
        const std::string_view raw = request[name];
        const auto text = decode_header_text(raw);
        if (count > 1 || !is_plain_header_text(raw) || !text || !says_the_same(*text, value)) {
            return wrong("does not say what the body says of");
        }
    }
    return std::nullopt;
}

} // namespace chalk::mcp
