#include "protocol/backend/delivery.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::backend {

delivery::commands delivery::add(std::size_t bytes, bool final) {
    commands next;
    sizes_.push_back(bytes);
    complete_ = complete_ || final;
    if (state_ == state::idle) {
        send_next(next);
    }
    look_for_end(next);
    return next;
}

delivery::commands delivery::end() {
    commands next;
    complete_ = true;
    look_for_end(next);
    return next;
}

delivery::commands delivery::on_acknowledged(std::uint64_t seq) {
    commands next;
    if (state_ != state::asking) {
        return next;
    }
    // More than this sender has sent is no mistake: an earlier one may have, and got no answer.
    const std::uint64_t last = taken_ + sizes_.size();
    if (seq < taken_ || seq > last) {
        stop(next, seq < taken_ ? fmt::format("it acknowledged event {} after event {}", seq, taken_)
                                : fmt::format("it acknowledged event {}, and there are {}", seq, last));
        return next;
    }
    if (seq == taken_) {
        // As good as no answer: it is asked again, but not at once.
        return on_trouble({{}, "it acknowledged no event that it was sent"}, 0, {});
    }
    sizes_.erase(sizes_.begin(), sizes_.begin() + static_cast<std::ptrdiff_t>(seq - taken_));
    taken_ = seq;
    next.emplace_back(forget{seq});
    if (std::exchange(failures_, 0) > 0) {
        next.emplace_back(say{log_level::info, "it takes events again"});
    }
    state_ = state::idle;
    send_next(next);
    look_for_end(next);
    return next;
}

delivery::commands delivery::on_trouble(const trouble& why, double random, wall_time now) {
    commands next;
    if (state_ != state::asking) {
        return next;
    }
    const auto wait = gateway::next_wait(settings_.retry, why.end, failures_, random, now);
    if (!wait) {
        stop(next, why.message);
        return next;
    }
    if (failures_++ == 0) {
        next.emplace_back(say{log_level::warning,
                              fmt::format("{}; its events are kept, and sent when it takes them again", why.message)});
    }
    state_ = state::pausing;
    next.emplace_back(pause{*wait});
    return next;
}

delivery::commands delivery::on_pause_over() {
    commands next;
    if (state_ == state::pausing) {
        state_ = state::idle;
        send_next(next);
    }
    return next;
}

/// As many as one request may hold, but at least one.
void delivery::send_next(commands& into) {
    if (sizes_.empty()) {
        return;
    }
    std::size_t count = 0;
    std::size_t bytes = 0;
    while (count < sizes_.size() && count < settings_.most_events &&
           (count == 0 || bytes + sizes_[count] <= settings_.most_bytes)) {
        bytes += sizes_[count++];
    }
    state_ = state::asking;
    into.emplace_back(send{taken_ + 1, taken_ + count});
}

void delivery::stop(commands& into, std::string why) {
    state_ = state::stopped;
    into.emplace_back(say{log_level::error, fmt::format("{}; nothing more is sent, and its events are kept", why)});
    stopped_for_ = std::move(why);
    look_for_end(into);
}

void delivery::look_for_end(commands& into) {
    const bool over = sizes_.empty() || state_ == state::stopped;
    if (complete_ && over && !std::exchange(settled_, true)) {
        into.emplace_back(settle{sizes_.size(), stopped_for_});
    }
}

} // namespace chalk::backend
