#include "actors/cluster/lease_messages.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

namespace {

result<void> check_names(std::string_view field, const name_set& names, name_limits limits) {
    if (names.size() > limits.most) {
        return config_failure(
            fmt::format("a node's {} are at most {}, these are {}", field, limits.most, names.size()));
    }
    for (const auto& name : names) {
        if (name.empty() || name.size() > limits.longest || name.find('\n') != std::string::npos) {
            return config_failure(
                fmt::format("each of a node's {} has 1 to {} bytes and no line break", field, limits.longest));
        }
    }
    return {};
}

} // namespace

result<void> check_hello(const hello& what) {
    if (what.offer.version.size() > longest_version) {
        return config_failure(fmt::format("a version has at most {} bytes", longest_version));
    }
    if (auto ok = check_names("runtimes", what.offer.runtimes, runtime_limits); !ok) {
        return ok;
    }
    if (auto ok = check_names("labels", what.offer.labels, label_limits); !ok) {
        return ok;
    }
    return check_names("held environments and images", what.offer.held, held_limits);
}

std::string join_names(const name_set& names) {
    std::string text;
    for (const auto& name : names) {
        text += name;
        text += '\n';
    }
    return text;
}

result<name_set> split_names(std::string_view text, name_limits limits) {
    name_set names;
    while (!text.empty()) {
        const auto end = text.find('\n');
        if (end == 0 || end == std::string_view::npos || end > limits.longest || names.size() == limits.most) {
            return config_failure("a list of names that nobody would send");
        }
        names.emplace_hint(names.end(), text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    return names;
}

caf::error check_lease_length(milliseconds length) {
    if (length < lease_terms::shortest || length > lease_terms::longest) {
        return caf::make_error(caf::sec::invalid_argument, "a lease of a length that none has");
    }
    return caf::none;
}

} // namespace chalk::actors
