#include "protocol/gateway/concurrency.hpp"

#include <algorithm>

namespace chalk::gateway {

bool concurrency::forget(id who) {
    const auto found = std::find(waiting_.begin(), waiting_.end(), who);
    if (found == waiting_.end()) {
        return false;
    }
    waiting_.erase(found);
    return true;
}

std::vector<concurrency::id> concurrency::admit(time_point now) {
    std::vector<id> out;
    if (paused_until_ && now < *paused_until_) {
        return out;
    }
    paused_until_.reset();
    while (!waiting_.empty() && static_cast<double>(under_way_) + 1 <= limit_) {
        out.push_back(waiting_.front());
        waiting_.pop_front();
        ++under_way_;
    }
    return out;
}

void concurrency::ended(how it_went, time_point began, time_point now, std::optional<milliseconds> wait) {
    // A limit that is not reached says nothing about a higher one.
    const bool full = static_cast<double>(under_way_) + 1 > limit_;
    if (under_way_ > 0) {
        --under_way_;
    }
    if (it_went == how::well && full) {
        limit_ = std::min(settings_.most, limit_ + 1 / limit_);
    } else if (it_went == how::limited && (!cut_at_ || began >= *cut_at_)) {
        // Requests of one burst are refused together: that is one cut, not one for each.
        limit_ = std::max(settings_.least, std::min(limit_, static_cast<double>(under_way_ + 1)) / 2);
        cut_at_ = now;
    }
    if (it_went == how::limited && wait) {
        paused_until_ = std::max(paused_until_.value_or(now), now + *wait);
    }
}

std::optional<concurrency::time_point> concurrency::wakes_at() const {
    return waiting_.empty() ? std::nullopt : paused_until_;
}

} // namespace chalk::gateway
