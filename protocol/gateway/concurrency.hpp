/// How many requests to one model may be under way at once, all runs together: one more for each round that went well,
/// half as many when the provider says that it was too much (429, 529). Who has to wait is let in in the order of
/// asking. Pure: time is an argument.
///
/// Owner: the gateway, one a model. Lost when it restarts: the limit is found again within seconds.
#pragma once

#include "protocol/core/units.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace chalk::gateway {

struct concurrency_settings {
    double first = 256;
    double least = 1;
    double most = 4096;
};

class concurrency {
  public:
    using time_point = std::chrono::steady_clock::time_point;
    using id = std::uint64_t;

    explicit concurrency(const concurrency_settings& settings) : settings_(settings), limit_(settings.first) {}

    /// `who` waits for its turn.
    void ask(id who) { waiting_.push_back(who); }
    /// It waits no longer. False: it was not waiting.
    bool forget(id who);
    /// Those whose turn it is: each is under way until `ended`.
    [[nodiscard]] std::vector<id> admit(time_point now);

    enum class how {
        well,    ///< the provider answered
        limited, ///< 429 or 529
        other,   ///< it failed, or was cancelled: says nothing of the load
    };
    /// A request that was admitted at `began` is over. `wait`: the provider asked everybody to wait.
    void ended(how it_went, time_point began, time_point now, std::optional<milliseconds> wait = std::nullopt);

    /// When admit() should be called next although nothing has ended: the provider's pause is over.
    [[nodiscard]] std::optional<time_point> wakes_at() const;

    [[nodiscard]] double limit() const noexcept { return limit_; }
    [[nodiscard]] std::size_t under_way() const noexcept { return under_way_; }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  private:
    concurrency_settings settings_;
    double limit_;
    std::size_t under_way_ = 0;
    std::deque<id> waiting_;
    std::optional<time_point> cut_at_;
    std::optional<time_point> paused_until_;
};

} // namespace chalk::gateway
