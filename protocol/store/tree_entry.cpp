#include "protocol/store/tree_entry.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::store {

namespace {

bool holds_valid_utf8(std::string_view text) {
    return to_valid_utf8(std::string(text)) == text;
}

std::string find_component_fault(std::string_view name) {
    if (name.empty()) {
        return "the path has an empty component";
    }
    if (name == "." || name == "..") {
        return fmt::format("the path has a component \"{}\"", name);
    }
    if (name.size() > max_name_length) {
        return fmt::format("a name in the path is longer than {} bytes", max_name_length);
    }
    return {};
}

/// Cuts the first component and the '/' behind it off `rest`.
std::string_view take_component(std::string_view& rest) noexcept {
    const auto name = rest.substr(0, rest.find('/'));
    rest.remove_prefix(std::min(name.size() + 1, rest.size()));
    return name;
}

} // namespace

std::string_view to_string(entry_kind kind) noexcept {
    switch (kind) {
    case entry_kind::file:
        return "file";
    case entry_kind::folder:
        return "folder";
    case entry_kind::symlink:
        return "symlink";
    }
    return "file";
}

std::string find_path_fault(std::string_view path) {
    if (path.empty()) {
        return "the path is empty";
    }
    if (path.size() > max_path_length) {
        return fmt::format("the path is longer than {} bytes", max_path_length);
    }
    if (path.front() == '/') {
        return "the path is absolute";
    }
    if (path.find('\0') != std::string_view::npos) {
        return "the path holds a NUL";
    }
    if (!holds_valid_utf8(path)) {
        return "the path is not valid UTF-8";
    }
    if (path.back() == '/') {
        return "the path has an empty component";
    }
    std::size_t depth = 0;
    for (auto rest = path; !rest.empty();) {
        if (auto fault = find_component_fault(take_component(rest)); !fault.empty()) {
            return fault;
        }
        if (++depth > max_path_depth) {
            return fmt::format("the path is more than {} folders deep", max_path_depth);
        }
    }
    return {};
}

std::string find_target_fault(std::string_view path, std::string_view target) {
    if (target.empty()) {
        return "the link's target is empty";
    }
    if (target.size() > max_path_length) {
        return fmt::format("the link's target is longer than {} bytes", max_path_length);
    }
    if (target.front() == '/') {
        return "the link leaves the tree: its target is absolute";
    }
    if (target.find('\0') != std::string_view::npos) {
        return "the link's target holds a NUL";
    }
    if (!holds_valid_utf8(target)) {
        return "the link's target is not valid UTF-8";
    }
    auto may_climb = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
    bool descends = false;
    for (auto rest = target; !rest.empty();) {
        const auto name = take_component(rest);
        if (name.empty() || name == ".") {
            continue;
        }
        if (name.size() > max_name_length) {
            return fmt::format("a name in the link's target is longer than {} bytes", max_name_length);
        }
        if (name != "..") {
            descends = true;
            continue;
        }
        if (descends) {
            return "the link may leave the tree: \"..\" behind a name in its target";
        }
        if (may_climb == 0) {
            return "the link leaves the tree: too many \"..\" in its target";
        }
        --may_climb;
    }
    return {};
}

std::string_view parent_of(std::string_view path) noexcept {
    const auto slash = path.rfind('/');
    return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

} // namespace chalk::store
