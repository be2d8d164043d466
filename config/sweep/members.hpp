/// Objects of dotted keys, as sweep files have them.
#pragma once

#include "config/json_document.hpp"

#include <functional>
#include <string>
#include <vector>

namespace chalk::config {

/// A dotted name with its value and where that stands.
struct member {
    std::string name;
    std::string path;
    const json* value = nullptr;
};

/// The members of an object that stands at `path`, in the order of the file. Where `opens(name)`, the members of an
/// object stand in its place: {"limits": {"max_turns": 5}} is "limits.max_turns", as TOML's dotted keys need it.
[[nodiscard]] std::vector<member> members_of(const json_document& document, const json& object, const std::string& path,
                                             const std::function<bool(const std::string&)>& opens);

} // namespace chalk::config
