/// What this side has offered, and what has become of it: each offer is made once on each connection, until it is
/// dropped. Pure.
///
/// Owner: a bulk_peer. Lost with it: who has the results offers them again.
#pragma once

#include "protocol/store/bulk_messages.hpp"

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>

namespace chalk::store {

/// Whether both are of the same result; their numbers do not count.
[[nodiscard]] bool is_same_result(const offer& a, const offer& b);

class offer_book {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    /// Its number is chosen here. One that is here already is not made twice.
    void add(offer made);

    /// The results of this assignment are not offered any more.
    void drop(const run_id& run, attempt_number attempt, result_token token);

    /// A new connection: everything is to be offered again.
    void connected();

    /// To be sent now; nullopt: nothing, or max_offers_open are unanswered.
    [[nodiscard]] std::optional<offer> next();

    /// nullopt: no offer of ours that is unanswered, or one that was dropped.
    [[nodiscard]] std::optional<offer> landed(const store::landed& answer);

    /// As above. One that there was no room for is made again at `again`, also on this connection; any other only on
    /// the next one.
    [[nodiscard]] std::optional<offer> refused(offer_number number, bulk_fault code, time_point again);

    /// What is due again at `now` may be sent.
    void wake(time_point now);

    [[nodiscard]] std::size_t size() const noexcept { return offers_.size(); }

  private:
    [[nodiscard]] std::optional<offer> answered(offer_number number);

    std::map<offer_number, offer> offers_;
    std::deque<offer_number> waiting_; ///< to be sent; some may be dropped
    std::set<offer_number> open_;      ///< sent and not answered on this connection; some may be dropped
    std::map<offer_number, time_point> later_;
    std::uint64_t last_ = 0;
};

} // namespace chalk::store
