/// JSON text that nobody vouched for: parsing with a bound on nesting (nlohmann's writer recurses, so a value nested a
/// million deep would overflow the stack when it is written again), and writing that cannot throw.
#pragma once

#include "protocol/core/result.hpp"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace chalk {

using json = nlohmann::json;

/// How deep a value from outside may be nested; ours add a few levels around it.
inline constexpr std::size_t max_json_depth = 64;

struct json_text_error {
    std::size_t line = 0;   ///< from 1
    std::size_t column = 0; ///< from 1, in bytes
    std::string message;
};

/// Exactly one JSON value in valid UTF-8. Of a duplicate key the last value stands.
[[nodiscard]] boost::system::result<json, json_text_error> parse_json(std::string_view text,
                                                                      std::size_t max_depth = max_json_depth);

/// Called by boost::system::result when value() is asked of an error: a programming error.
[[noreturn]] void throw_exception_from_error(const json_text_error& why, const boost::source_location&);

/// On one line, or indented by `indent`. Invalid UTF-8 is written as U+FFFD.
[[nodiscard]] std::string dump_json(const json& value, int indent = -1);

/// True when arrays and objects are nested more than `max_depth` deep. Needs no well-formed text.
[[nodiscard]] bool nested_deeper_than(std::string_view text, std::size_t max_depth) noexcept;

/// `text` with every invalid sequence replaced by U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string text);

} // namespace chalk
