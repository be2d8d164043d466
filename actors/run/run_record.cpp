#include "actors/run/run_record.hpp"

#include <fmt/format.h>

#include <memory>

namespace chalk::actors {

result<event_ptr> run_record::add(const event_ptr& from_harness) {
    if (from_harness->seq != harness_seq_ + 1) {
        return harness_failure(
            fmt::format("the harness sent event {} after event {}", from_harness->seq, harness_seq_));
    }
    ++harness_seq_;
    event_ptr mine = from_harness;
    if (mine->seq != last_seq_ + 1) {
        auto renumbered = std::make_shared<event>(*from_harness);
        renumbered->seq = last_seq_ + 1;
        mine = std::move(renumbered);
    }
    keep(mine);
    return mine;
}

json run_record::document() const {
    auto out = builder_.document();
    if (account_) {
        out["gateway"] = gateway::to_json(account_->so_far());
    }
    return out;
}

event_ptr run_record::add_own(event_body body, wall_time now) {
    auto mine = std::make_shared<const event>(event{last_seq_ + 1, now, std::move(body)});
    keep(mine);
    return mine;
}

void run_record::keep(const event_ptr& e) {
    last_seq_ = e->seq;
    last_ = e->time;
    if (!first_) {
        first_ = e->time;
    }
    if (!final_) {
        final_ = outcome_of(e->body);
    }
    builder_.add(e);
}

} // namespace chalk::actors
