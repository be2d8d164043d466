#include "actors/cluster/quarantine.hpp"

#include <algorithm>

namespace chalk::actors {

bool speaks_of_node(error_class kind) noexcept {
    return kind == error_class::image || kind == error_class::sandbox || kind == error_class::harness;
}

bool quarantine::error(clock::time_point now) {
    if (active_ || errors_.allow(now)) {
        return false;
    }
    if (well_since_ && now - *well_since_ >= rules_.window + rules_.max_backoff) {
        waits_ = 0; // the last one is long ago
    }
    active_ = true;
    wait_for_probe(now);
    return true;
}

bool quarantine::begin_probe(clock::time_point now) {
    if (!due_ || now < *due_) {
        return false;
    }
    due_.reset();
    probing_ = true;
    return true;
}

void quarantine::probe_ended(bool passed, clock::time_point now) {
    if (!probing_) {
        return;
    }
    probing_ = false;
    if (!passed) {
        wait_for_probe(now);
        return;
    }
    active_ = false;
    well_since_ = now;
    errors_ = restart_policy(allowed(rules_), rules_.window); // it begins with a clean sheet
}

void quarantine::wait_for_probe(clock::time_point now) {
    const auto doublings = std::min<std::uint32_t>(waits_++, 20);
    due_ = now + std::min(rules_.max_backoff, rules_.backoff * (std::int64_t{1} << doublings));
}

} // namespace chalk::actors
