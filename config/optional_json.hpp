/// Optional values in JSON: null is no value.
#pragma once

#include "protocol/core/json_text.hpp"

#include <optional>

namespace chalk::config {

template<class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

template<class T>
std::optional<T> optional_of(const json& value) {
    return value.is_null() ? std::nullopt : std::optional<T>(value.get<T>());
}

} // namespace chalk::config
