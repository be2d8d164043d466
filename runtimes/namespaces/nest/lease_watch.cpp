#include "runtimes/namespaces/nest/lease_watch.hpp"

#include <ctime>

#include <sys/timerfd.h>

namespace chalk::nest {

lease_state lease_watch::look(bool rang) {
    constexpr std::int64_t second = 1'000'000'000;
    const std::int64_t until = lease_.until();
    if (until == armed_) {
        return rang && until != 0 ? lease_state::over : lease_state::runs;
    }
    if (until != 0) {
        if (!timer_) {
            timer_.reset(::timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK));
        }
        // An end that has passed makes it ring at once; one that rang before is silent again.
        const itimerspec end{{}, {until / second, until % second}};
        if (!timer_ || ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &end, nullptr) != 0) {
            return lease_state::unwatched;
        }
    }
    armed_ = until;
    return lease_state::runs;
}

} // namespace chalk::nest
