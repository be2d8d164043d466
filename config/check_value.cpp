#include "config/json_document.hpp"
#include "config/nearest.hpp"
#include "config/run_config_keys.hpp"
#include "protocol/backend/target.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::config {

namespace {

/// A json made from an int is signed even where it holds 5, so both kinds of integer are looked at.
bool in_range(const json& value, std::uint64_t minimum, std::uint64_t maximum) {
    const bool counts = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
    return counts && value.get<std::uint64_t>() >= minimum && value.get<std::uint64_t>() <= maximum;
}

/// Rules of single keys that their kind does not tell.
std::string check_text(const key_spec& spec, const std::string& text) {
    if (!spec.choices.empty() && std::find(spec.choices.begin(), spec.choices.end(), text) == spec.choices.end()) {
        const std::vector<std::string> known(spec.choices.begin(), spec.choices.end());
        return fmt::format("expected {}, got {}{}", expectation(spec), preview(text), suggestion(text, known));
    }
    if (text.find('\0') != std::string::npos) {
        return fmt::format("expected {}, got text with a NUL character", expectation(spec));
    }
    if (spec.pattern == run_id_pattern) {
        const auto id = run_id::parse(text);
        return id ? std::string{} : id.error().message;
    }
    if (spec.path == "backend_uri" && !text.empty()) {
        // Not shown: it may hold a password.
        const auto known = backend::parse_uri(text);
        return known ? std::string{} : known.error().message;
    }
    if (spec.path == "transcript_file" && !std::filesystem::path(text).has_filename()) {
        return fmt::format("expected the path of a file, got {}", preview(text));
    }
    if ((spec.path == "environment" || spec.path == "mcp_server_config.host") && text.empty()) {
        return "must not be empty";
    }
    return {};
}

} // namespace

std::string preview(const json& value) {
    constexpr std::size_t longest = 60;
    if (value.is_structured()) {
        return value.is_array() ? "a list" : "an object";
    }
    auto text = dump_json(value);
    return text.size() <= longest ? text : fmt::format("a string of {} bytes", text.size() - 2);
}

std::string expectation(const key_spec& spec) {
    const std::string_view or_null = spec.nullable ? " or null" : "";
    switch (spec.kind) {
    case value_kind::text:
        if (!spec.choices.empty()) {
            return fmt::format("one of \"{}\"{}", fmt::join(spec.choices, "\", \""), or_null);
        }
        return fmt::format("a string{}", or_null);
    case value_kind::boolean:
        return "true or false";
    case value_kind::whole_number:
        return fmt::format("a whole number from {} to {}{}", spec.minimum, spec.maximum, or_null);
    case value_kind::amount:
        return fmt::format("a number above 0, at most {}{}", spec.maximum, or_null);
    case value_kind::object:
        return "an object";
    case value_kind::text_list:
        return spec.choices.empty() ? "a list of strings"
                                    : fmt::format("a list of any of \"{}\"", fmt::join(spec.choices, "\", \""));
    case value_kind::script:
        return "a path or a list of steps";
    case value_kind::run_config_or_path:
        return "a run config or the path of one";
    case value_kind::axes:
        return "an object of lists";
    case value_kind::filters:
        return "a list of objects";
    }
    return {};
}

std::string check_value(const key_spec& spec, const json& value) {
    if (spec.nullable && value.is_null()) {
        return {};
    }
    const auto fits = [&] {
        switch (spec.kind) {
        case value_kind::text:
            return value.is_string();
        case value_kind::boolean:
            return value.is_boolean();
        case value_kind::whole_number:
            return in_range(value, spec.minimum, spec.maximum);
        case value_kind::amount:
            return value.is_number() && value.get<double>() > 0 &&
                   value.get<double>() <= static_cast<double>(spec.maximum);
        case value_kind::object:
        case value_kind::axes:
            return value.is_object();
        case value_kind::text_list:
            return value.is_array() &&
                   std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_string(); });
        case value_kind::run_config_or_path:
            return value.is_object() || (value.is_string() && !value.get_ref<const std::string&>().empty());
        case value_kind::filters:
            return value.is_array() &&
                   std::all_of(value.begin(), value.end(), [](const json& item) { return item.is_object(); });
        case value_kind::script:
            return value.is_string() || value.is_array();
        }
        return false;
    };
    if (!fits()) {
        return fmt::format("expected {}, got {}", expectation(spec), preview(value));
    }
    if (spec.kind == value_kind::text_list && !spec.choices.empty()) {
        for (const auto& item : value) {
            if (auto wrong = check_text(spec, item.get<std::string>()); !wrong.empty()) {
                return wrong;
            }
        }
    }
    return spec.kind == value_kind::text ? check_text(spec, value.get<std::string>()) : std::string{};
}

} // namespace chalk::config
