#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace chalk {

namespace {

/// nlohmann's messages read "[json.exception.parse_error.101] parse error at line 1, column 9: syntax error while
/// parsing value - invalid literal; last read: '...'"; people want what follows the position.
std::string cause_of(const json::parse_error& error) {
    const std::string_view text = error.what();
    const auto column = text.find("column ");
    const auto colon = text.find(": ", column == std::string_view::npos ? 0 : column);
    return std::string(colon == std::string_view::npos ? text : text.substr(colon + 2));
}

/// `byte` counts from 1 and is the last one that the parser read; 0 where it does not know.
json_text_error locate(std::string_view text, std::size_t byte, std::string message) {
    const auto before = text.substr(0, std::min(byte > 0 ? byte - 1 : 0, text.size()));
    const auto line = static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n')) + 1;
    const auto last_break = before.rfind('\n');
    const auto line_start = last_break == std::string_view::npos ? 0 : last_break + 1;
    return {line, before.size() - line_start + 1, std::move(message)};
}

bool is_ascii(std::string_view text) noexcept {
    return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) >= 0; });
}

} // namespace

bool nested_deeper_than(std::string_view text, std::size_t max_depth) noexcept {
    std::size_t depth = 0;
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (in_string) {
            if (c == '\\') {
                ++i;
            } else if (c == '"') {
                in_string = false;
            }
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            if (++depth > max_depth) {
                return true;
            }
        } else if ((c == ']' || c == '}') && depth > 0) {
            --depth;
        }
    }
    return false;
}

boost::system::result<json, json_text_error> parse_json(std::string_view text, std::size_t max_depth) {
    if (nested_deeper_than(text, max_depth)) {
        return json_text_error{1, 1, fmt::format("nested more than {} levels deep", max_depth)};
    }
    try {
        // Said outright: nearly everything converts to json, so the compiler will not choose.
        return {boost::system::in_place_value, json::parse(text)};
    } catch (const json::parse_error& error) {
        return locate(text, error.byte, cause_of(error));
    } catch (const json::exception& error) { // a number beyond double's range
        return locate(text, 0, error.what());
    }
}

void throw_exception_from_error(const json_text_error& why, const boost::source_location&) {
    throw std::logic_error("value() of a JSON error: " + why.message);
}

std::string dump_json(const json& value, int indent) {
    return value.dump(indent, ' ', false, json::error_handler_t::replace);
}

std::string to_valid_utf8(std::string text) {
    if (is_ascii(text)) {
        return text;
    }
    // The library knows UTF-8; nearly all text takes the way above.
    return json::parse(dump_json(json(std::move(text)))).get<std::string>();
}

} // namespace chalk
