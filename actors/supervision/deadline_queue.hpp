/// Every deadline of a node in one queue, with one timer for its head. A CAF timer cannot be taken back, so one per
/// wait would live on until it fires; here a cleared deadline costs nothing more. Pure; time is handed in.
///
/// Owner: the node's shared_deadlines.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chalk::actors {

class deadline_queue {
  public:
    using clock = std::chrono::steady_clock;

    /// Whose deadline it is. Each has at most one: a new one takes the old one's place.
    using key = std::uint64_t;

    /// `generation` tells the owner which of its deadlines passed: it may have set another meanwhile.
    struct passed {
        key who = 0;
        std::uint64_t generation = 0;
        friend bool operator==(const passed&, const passed&) = default;
    };

    void set(key who, std::uint64_t generation, clock::time_point at);
    void clear(key who);

    /// Takes out all deadlines at or before `now`, earliest first.
    [[nodiscard]] std::vector<passed> take_passed(clock::time_point now);

    /// Whether no timer that is running comes early enough for the head.
    [[nodiscard]] bool needs_timer() const;
    /// How long a timer must be started for now, or nullopt while one that is running comes early enough.
    [[nodiscard]] std::optional<clock::duration> arm(clock::time_point now);
    /// A timer came back. When it comes later than `most_late`, nobody could look for that long: chalk was stopped, or
    /// got no cpu. What happened meanwhile is yet to be heard, so all deadlines move on by that time and `hearing`;
    /// each of them `most_postponed` times at most, so that a machine that is always late still ends what hangs.
    void timer_fired(clock::time_point now);
    static constexpr std::chrono::seconds most_late{1};
    static constexpr unsigned most_postponed = 3;
    static constexpr std::chrono::seconds hearing{2};

    [[nodiscard]] std::size_t size() const noexcept { return by_key_.size(); }

  private:
    void postpone(clock::duration by);

    struct entry {
        clock::time_point at;
        std::uint64_t generation = 0;
        unsigned postponed = 0; ///< how often
    };
    std::unordered_map<key, entry> by_key_;
    std::set<std::pair<clock::time_point, key>> by_time_;
    std::multiset<clock::time_point> timers_; ///< started and not yet back
};

} // namespace chalk::actors
