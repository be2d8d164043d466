/// The sending side's queue: what the other side wants, and how many chunks it has room for. Pure. Whoever writes the
/// connection asks for the next chunk when the last one is written, so that one chunk is in memory.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/store/bulk_messages.hpp"

#include <deque>
#include <optional>

namespace chalk::store {

class chunk_outbox {
  public:
    /// What may wait at once; a receiver that lists more has no plan.
    static constexpr std::size_t max_waiting = 4096;
    /// Credits that may be outstanding at once.
    static constexpr std::uint32_t max_credits = 1024;

    struct item {
        tree_digest tree; ///< where the chunk is to be looked for
        chunk_digest chunk;
    };

    /// error_class::harness beyond the bounds above; nothing is taken then.
    [[nodiscard]] result<void> want(const want_chunks& asked);

    /// To be read and sent now; takes a credit. nullopt: nothing is wanted, or there is no credit.
    [[nodiscard]] std::optional<item> next();

    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }
    [[nodiscard]] std::uint32_t credits() const noexcept { return credits_; }

  private:
    std::deque<item> waiting_;
    std::uint32_t credits_ = 0;
};

} // namespace chalk::store
