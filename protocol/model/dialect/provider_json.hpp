/// Reading JSON that a provider sent: nothing of it is taken for granted, nothing throws, and what has another shape
/// than expected reads as absent.
#pragma once

#include "protocol/core/json_text.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::model {

/// parse_json, but text that models are known to get wrong is mended first where it would not parse: bytes that are not
/// UTF-8, and halves of surrogate pairs (\ud83d alone), become U+FFFD.
[[nodiscard]] boost::system::result<json, json_text_error> parse_provider_json(std::string text);

/// The text at `key`, or empty. Valid as long as `object` is.
[[nodiscard]] std::string_view text_at(const json& object, const char* key);

/// The count at `key`; nullopt where there is none, or a negative or a broken one.
[[nodiscard]] std::optional<std::uint64_t> count_at(const json& object, const char* key);

/// What stands at `key`, or null.
[[nodiscard]] const json& value_at(const json& object, const char* key);

/// At most `cap` bytes of `text`, valid UTF-8; says how long it was if it was cut.
[[nodiscard]] std::string shortened(std::string_view text, std::size_t cap);

} // namespace chalk::model
