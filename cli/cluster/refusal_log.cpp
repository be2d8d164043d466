#include "cli/cluster/refusal_log.hpp"

#include <fmt/format.h>

namespace chalk::cli {

std::optional<std::string> refusal_log::line(const cluster::refusal& why, clock::time_point now) {
    if (!cluster::is_about_certificate(why.reason) && why.reason != cluster::refusal_reason::not_allowed &&
        why.reason != cluster::refusal_reason::no_resources && why.reason != cluster::refusal_reason::too_many) {
        return std::nullopt;
    }
    std::erase_if(said_, [now](const auto& one) { return now - one.second >= said_again_after; });
    const auto who = why.name ? why.name->str() : std::string("a stranger");
    const auto key = fmt::format("{} {}", cluster::name_of(why.reason), who);
    if (said_.contains(key) || said_.size() >= most_kept) {
        return std::nullopt;
    }
    said_.emplace(key, now);
    return fmt::format("{} at {} {}: {}{}{}", who, why.address, why.was_open ? "was cut off" : "was not let in",
                       cluster::name_of(why.reason), why.detail.empty() ? "" : ": ", why.detail);
}

} // namespace chalk::cli
