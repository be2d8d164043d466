/// The end of a sandbox's lease among what its first process waits for. Between ends nobody wakes: the timer is set to
/// the end that the page named at the last look, and at the end the page is looked at again.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/nest/lease_view.hpp"

#include <cstdint>

namespace chalk::nest {

enum class lease_state {
    runs, ///< or there is none
    over,
    unwatched, ///< with errno: nothing would tell of its end, so nothing may go on
};

class lease_watch {
  public:
    explicit lease_watch(lease_view lease) noexcept : lease_(lease) {}

    /// Call it before each wait, `rang`: descriptor() was readable in the last one.
    [[nodiscard]] lease_state look(bool rang);

    /// To poll for POLLIN; -1, which poll passes over: there is no lease.
    [[nodiscard]] int descriptor() const noexcept { return armed_ == 0 ? -1 : timer_.get(); }

  private:
    lease_view lease_;
    unique_fd timer_;        ///< made with the first lease
    std::int64_t armed_ = 0; ///< what it is set to, as lease_view::until()
};

} // namespace chalk::nest
