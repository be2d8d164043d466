/// What is not known, in results as JSON and as text.
#pragma once

#include "cli/show/page.hpp"
#include "protocol/core/json_text.hpp"

#include <optional>
#include <string>

namespace chalk::cli {

template<class T>
[[nodiscard]] json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

[[nodiscard]] inline json text_or_null(const std::string& text) {
    return text.empty() ? json(nullptr) : json(text);
}

[[nodiscard]] inline std::string number_text(const std::optional<double>& value) {
    return value ? score_text(*value) : "-";
}

} // namespace chalk::cli
