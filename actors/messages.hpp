/// Every message type of the tree and its CAF type id. A message is a named struct: commands are verbs, facts are past
/// tense. Types that only ever travel inside one process are marked so; the rest has an inspect().
#pragma once

#include "protocol/core/ids.hpp"
#include "protocol/event/event.hpp"

#include <caf/all.hpp>

#include <string>
#include <vector>

namespace chalk::actors {

/// Harness (or event relay) to whoever watches a run: its next events, in order. Sequence numbers have no gaps.
struct events_recorded {
    std::vector<event_ptr> events;
};

/// Stop in order: the run ends as cancelled, with this reason.
struct cancel_run {
    std::string reason;
};

/// --prepare-only: the sandbox is ready, no step will start.
struct run_prepared {};

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, events_recorded& x) {
    std::vector<std::string> lines;
    if constexpr (Inspector::reads_state) {
        for (const auto& one : x.events) {
            lines.push_back(to_line(*one));
        }
    }
    auto load = [&]() -> caf::error {
        for (const auto& line : lines) {
            auto parsed = parse_event(line);
            if (!parsed) {
                return caf::make_error(caf::sec::invalid_argument, parsed.error().message);
            }
            x.events.push_back(std::make_shared<const event>(std::move(*parsed)));
        }
        return caf::none;
    };
    return f(caf::meta::type_name("events_recorded"), lines, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, cancel_run& x) {
    return f(caf::meta::type_name("cancel_run"), x.reason);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_prepared&) {
    return f(caf::meta::type_name("run_prepared"));
}

} // namespace chalk::actors

CAF_BEGIN_TYPE_ID_BLOCK(chalk, first_custom_type_id)
CAF_ADD_TYPE_ID(chalk, (chalk::actors::events_recorded))
CAF_ADD_TYPE_ID(chalk, (chalk::actors::cancel_run))
CAF_ADD_TYPE_ID(chalk, (chalk::actors::run_prepared))
CAF_END_TYPE_ID_BLOCK(chalk)
