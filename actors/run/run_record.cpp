#include "actors/run/run_record.hpp"

#include "actors/run/run_order.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace chalk::actors {

namespace {

/// The harness's word on how many steps there are is not trusted with our memory.
constexpr std::size_t most_steps = 10'000;

} // namespace

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

journal::spending run_record::spent() const {
    if (!account_) {
        return {usage_, 0.0};
    }
    const auto spent = account_->so_far();
    return {spent.tokens, spent.usd};
}

void run_record::note_figures(const event_body& body) {
    if (const auto* started = std::get_if<task_started>(&body)) {
        step_scores_.resize(std::min(started->step_count, most_steps));
    } else if (const auto* scored = std::get_if<step_scored>(&body)) {
        if (scored->step < step_scores_.size()) {
            step_scores_[scored->step] = scored->score;
        }
    } else if (const auto* message = std::get_if<message_added>(&body); message != nullptr && message->usage) {
        usage_.input += message->usage->input;
        usage_.cached += message->usage->cached;
        usage_.output += message->usage->output;
        usage_.reasoning += message->usage->reasoning;
    }
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
    note_figures(e->body);
    builder_.add(e);
}

void add_figures(run_result& what, const run_record& record) {
    // Its judge may have given one all the same: then it is the transcript that could not be written.
    what.score = what.how.status == outcome_status::error ? std::nullopt : record.score();
    what.step_scores = record.step_scores();
    what.spent = record.spent();
}

} // namespace chalk::actors
