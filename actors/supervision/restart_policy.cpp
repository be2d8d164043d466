#include "actors/supervision/restart_policy.hpp"

namespace chalk::actors {

bool restart_policy::allow(clock::time_point now) {
    while (!restarts_.empty() && now - restarts_.front() >= window_) {
        restarts_.pop_front();
    }
    if (restarts_.size() >= max_restarts_) {
        return false;
    }
    restarts_.push_back(now);
    return true;
}

} // namespace chalk::actors
