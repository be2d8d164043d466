#include "protocol/event/event.hpp"

#include "protocol/event/event_shape.hpp"

#include <type_traits>

namespace chalk {

std::string_view type_name(const event_body& body) noexcept {
    return std::visit(
        [](const auto& b) -> std::string_view { return event_wire::shape<std::decay_t<decltype(b)>>::name; }, body);
}

bool is_final(const event_body& body) noexcept {
    return std::holds_alternative<task_completed>(body) || std::holds_alternative<run_failed>(body) ||
           std::holds_alternative<run_cancelled>(body);
}

std::optional<outcome> outcome_of(const event_body& body) {
    if (const auto* completed = std::get_if<task_completed>(&body)) {
        return outcome{completed->status, std::nullopt, {}};
    }
    if (const auto* failed = std::get_if<run_failed>(&body)) {
        return outcome::error(failed->kind, failed->message);
    }
    if (const auto* cancelled = std::get_if<run_cancelled>(&body)) {
        return outcome::cancelled(cancelled->reason);
    }
    return std::nullopt;
}

} // namespace chalk
