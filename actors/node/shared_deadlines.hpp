/// A node's deadline queue as its runs see it. A run moves its deadline a dozen times: as messages to the node that
/// would be a fifth of all that an empty run sends, so the runs change the queue themselves.
///
/// Shared by a node and its runs; any thread. No call waits for more than another's change of the queue.
#pragma once

#include "actors/node/ledger.hpp"
#include "actors/run/run_machine.hpp"
#include "actors/supervision/deadline_queue.hpp"

#include <mutex>
#include <optional>
#include <vector>

namespace chalk::actors {

class shared_deadlines {
  public:
    using clock = deadline_queue::clock;

    struct passed {
        ticket who{0};
        deadline_kind kind = deadline_kind::part;
        std::uint64_t generation = 0;
    };

    /// Takes the place of the one before. True: no timer that runs comes early enough, so the node has to be told to
    /// `arm`.
    [[nodiscard]] bool set(ticket who, deadline_kind kind, std::uint64_t generation, clock::time_point at);
    void clear(ticket who, deadline_kind kind);

    /// The node's: how long a timer must be started for, or nullopt while one that runs comes early enough.
    [[nodiscard]] std::optional<clock::duration> arm(clock::time_point now);
    /// The node's, when a timer came back: what has passed, earliest first.
    [[nodiscard]] std::vector<passed> take_passed(clock::time_point now);

  private:
    std::mutex mutex_; ///< guards queue_
    deadline_queue queue_;
};

} // namespace chalk::actors
