#include "actors/cluster/lease_clock.hpp"

#include <algorithm>
#include <iterator>

namespace chalk::actors {

lease_clock::question lease_clock::ask(node_time now) {
    // By the time: a clock made later, also by a process started later, never takes an old answer for its own.
    last_question_ = std::max(last_question_ + 1, now.time_since_epoch().count());
    const question asked{last_question_};
    open_.emplace(asked, now);
    if (open_.size() > most_open) {
        open_.erase(open_.begin());
    }
    return asked;
}

bool lease_clock::answered(question what, milliseconds length, node_time now) {
    const auto asked = open_.find(what);
    if (asked == open_.end()) {
        return false;
    }
    const node_time until = asked->second + length;
    const node_time stop = until - std::min(stop_margin_, length / 2);
    open_.erase(open_.begin(), std::next(asked)); // answers to older questions end earlier
    if (standing(now) == lease_standing::stopping || now >= stop || (until_ && until <= *until_)) {
        return false;
    }
    until_ = until;
    stop_at_ = std::max(stop, stop_at_.value_or(stop));
    return true;
}

lease_standing lease_clock::standing(node_time now) {
    stopped_ = stopped_ || (stop_at_ && now >= *stop_at_);
    if (stopped_) {
        return lease_standing::stopping;
    }
    return stop_at_ ? lease_standing::running : lease_standing::none;
}

} // namespace chalk::actors
