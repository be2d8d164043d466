#include "actors/supervision/deadline_queue.hpp"

namespace chalk::actors {

void deadline_queue::set(key who, std::uint64_t generation, clock::time_point at) {
    clear(who);
    by_key_.emplace(who, entry{at, generation, 0});
    by_time_.emplace(at, who);
}

void deadline_queue::clear(key who) {
    if (const auto found = by_key_.find(who); found != by_key_.end()) {
        by_time_.erase({found->second.at, who});
        by_key_.erase(found);
    }
}

std::vector<deadline_queue::passed> deadline_queue::take_passed(clock::time_point now) {
    std::vector<passed> due;
    while (!by_time_.empty() && by_time_.begin()->first <= now) {
        const key who = by_time_.begin()->second;
        due.push_back({who, by_key_.at(who).generation});
        by_key_.erase(who);
        by_time_.erase(by_time_.begin());
    }
    return due;
}

bool deadline_queue::needs_timer() const {
    return !by_time_.empty() && (timers_.empty() || *timers_.begin() > by_time_.begin()->first);
}

std::optional<deadline_queue::clock::duration> deadline_queue::arm(clock::time_point now) {
    if (!needs_timer()) {
        return std::nullopt;
    }
    const clock::time_point head = by_time_.begin()->first;
    timers_.insert(head);
    return head > now ? head - now : clock::duration::zero();
}

void deadline_queue::timer_fired(clock::time_point now) {
    const auto late = timers_.empty() ? clock::duration::zero() : now - *timers_.begin();
    if (late > most_late) {
        postpone(late + hearing);
    }
    while (!timers_.empty() && *timers_.begin() <= now) {
        timers_.erase(timers_.begin());
    }
}

void deadline_queue::postpone(clock::duration by) {
    by_time_.clear();
    for (auto& [who, what] : by_key_) {
        if (what.postponed < most_postponed) {
            what.at += by;
            ++what.postponed;
        }
        by_time_.emplace(what.at, who);
    }
}

} // namespace chalk::actors
