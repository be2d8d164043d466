#include "protocol/model/dialect/provider_json.hpp"

#include <fmt/format.h>

#include <charconv>

namespace chalk::model {

namespace {

/// The code unit of an escape \uXXXX at `at`, nullopt if there is none.
std::optional<unsigned> escaped_unit(std::string_view text, std::size_t at) {
    if (at + 6 > text.size() || text[at] != '\\' || text[at + 1] != 'u') {
        return std::nullopt;
    }
    unsigned unit = 0;
    const auto* end = text.data() + at + 6;
    const auto parsed = std::from_chars(text.data() + at + 2, end, unit, 16);
    return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(unit) : std::nullopt;
}

bool is_high(unsigned unit) {
    return unit >= 0xd800 && unit < 0xdc00;
}

bool is_low(unsigned unit) {
    return unit >= 0xdc00 && unit < 0xe000;
}

void mend_surrogates(std::string& text) {
    for (std::size_t at = text.find('\\'); at < text.size(); at = text.find('\\', at)) {
        const auto unit = escaped_unit(text, at);
        if (!unit) {
            at += 2; // another escape: its second character may be a backslash
            continue;
        }
        if (is_high(*unit) && is_low(escaped_unit(text, at + 6).value_or(0))) {
            at += 12;
            continue;
        }
        if (is_high(*unit) || is_low(*unit)) {
            text.replace(at + 2, 4, "fffd");
        }
        at += 6;
    }
}

} // namespace

boost::system::result<json, json_text_error> parse_provider_json(std::string text) {
    // A provider echoes tools, whose schemas are as deep as they may be, some levels down.
    constexpr std::size_t depth = max_json_depth + 16;
    auto parsed = parse_json(text, depth);
    if (parsed) {
        return parsed;
    }
    auto mended = to_valid_utf8(std::move(text));
    mend_surrogates(mended);
    auto again = parse_json(mended, depth);
    return again ? std::move(again) : std::move(parsed);
}

const json& value_at(const json& object, const char* key) {
    static const json nothing;
    if (!object.is_object()) {
        return nothing;
    }
    const auto found = object.find(key);
    return found == object.end() ? nothing : *found;
}

std::string_view text_at(const json& object, const char* key) {
    const auto& value = value_at(object, key);
    return value.is_string() ? std::string_view(value.get_ref<const std::string&>()) : std::string_view{};
}

std::optional<std::uint64_t> count_at(const json& object, const char* key) {
    const auto& value = value_at(object, key);
    if (value.is_number_unsigned()) {
        return value.get<std::uint64_t>();
    }
    if (value.is_number_integer() && value.get<std::int64_t>() >= 0) {
        return value.get<std::uint64_t>();
    }
    constexpr double most = 1e15; // as exact as a double counts
    if (value.is_number_float() && value.get<double>() >= 0 && value.get<double>() <= most) {
        return static_cast<std::uint64_t>(value.get<double>());
    }
    return std::nullopt;
}

std::string shortened(std::string_view text, std::size_t cap) {
    if (text.size() <= cap) {
        return to_valid_utf8(std::string(text));
    }
    return fmt::format("{}... [{} bytes in all]", to_valid_utf8(std::string(text.substr(0, cap))), text.size());
}

} // namespace chalk::model
