#include "actors/node/shared_deadlines.hpp"

namespace chalk::actors {

namespace {

/// Two deadlines a run share the queue.
deadline_queue::key queue_key(ticket who, deadline_kind kind) {
    return static_cast<std::uint64_t>(who) * 2 + (kind == deadline_kind::whole ? 1 : 0);
}

} // namespace

bool shared_deadlines::set(ticket who, deadline_kind kind, std::uint64_t generation, clock::time_point at) {
    const std::lock_guard lock(mutex_);
    queue_.set(queue_key(who, kind), generation, at);
    return queue_.needs_timer();
}

void shared_deadlines::clear(ticket who, deadline_kind kind) {
    const std::lock_guard lock(mutex_);
    queue_.clear(queue_key(who, kind));
}

std::optional<shared_deadlines::clock::duration> shared_deadlines::arm(clock::time_point now) {
    const std::lock_guard lock(mutex_);
    return queue_.arm(now);
}

std::vector<shared_deadlines::passed> shared_deadlines::take_passed(clock::time_point now) {
    const std::lock_guard lock(mutex_);
    queue_.timer_fired(now);
    std::vector<passed> all;
    for (const auto& one : queue_.take_passed(now)) {
        all.push_back(
            {ticket{one.who / 2}, one.who % 2 == 1 ? deadline_kind::whole : deadline_kind::part, one.generation});
    }
    return all;
}

} // namespace chalk::actors
