/// What to send a backend next, what it has taken, and how long to wait after it did not. Pure: facts in, commands out;
/// it knows numbers and sizes of events, not the events.
///
/// One request is open at a time, so order needs no further care. The backend acknowledges with the highest number that
/// it has; what lies above is sent again. A refusal that trying again will not change ends the sending; what was not
/// taken stays in the spool.
///
/// Owner: the sender.
#pragma once

#include "protocol/event/event.hpp"
#include "protocol/gateway/retry.hpp"

#include <cstdint>
#include <deque>
#include <limits>
#include <string>
#include <variant>
#include <vector>

namespace chalk::backend {

/// Why a backend did not answer as it should.
struct trouble {
    gateway::attempt_end end; ///< status and headers where there were any
    std::string message;
};

/// Without an end, half a second at first and half a minute at most, less up to a quarter; a server's own word on the
/// wait is kept up to five minutes.
inline constexpr gateway::retry_settings patient_retry{std::numeric_limits<unsigned>::max(), milliseconds{500},
                                                       milliseconds{30'000}, milliseconds{300'000}};

struct delivery_settings {
    gateway::retry_settings retry = patient_retry;
    std::size_t most_events = 256; ///< of one request
    std::size_t most_bytes = std::size_t{1} << 20U;
};

class delivery {
  public:
    /// Send these events, numbers included.
    struct send {
        std::uint64_t first = 0;
        std::uint64_t last = 0;
    };
    struct pause {
        milliseconds wait{0};
    };
    /// Events up to this number are the backend's and need not be kept in memory.
    struct forget {
        std::uint64_t up_to = 0;
    };
    /// A line for the run's log. Said when things change, not with each attempt.
    struct say {
        log_level level = log_level::info;
        std::string text;
    };
    /// Nothing more will be sent. `left` events were not taken, for `why`; 0: the backend has all.
    struct settle {
        std::uint64_t left = 0;
        std::string why;
    };
    using command = std::variant<send, pause, forget, say, settle>;
    using commands = std::vector<command>;

    explicit delivery(delivery_settings settings = {}) : settings_(settings) {}

    /// The next event, of this many bytes. The first one is number 1; nothing follows the final one.
    [[nodiscard]] commands add(std::size_t bytes, bool final);
    /// No final event will come: what there is is all (a spool of a chalk that was killed).
    [[nodiscard]] commands end();
    /// The answer to the open request.
    [[nodiscard]] commands on_acknowledged(std::uint64_t seq);
    /// The open request failed. `random` is from [0, 1).
    [[nodiscard]] commands on_trouble(const trouble& why, double random, wall_time now);
    [[nodiscard]] commands on_pause_over();

  private:
    enum class state { idle, asking, pausing, stopped };

    void send_next(commands& into);
    void stop(commands& into, std::string why);
    void look_for_end(commands& into);

    delivery_settings settings_;
    state state_ = state::idle;
    std::deque<std::size_t> sizes_; ///< of events that were not taken yet
    std::uint64_t taken_ = 0;       ///< highest number that the backend has
    unsigned failures_ = 0;         ///< in a row
    bool complete_ = false;         ///< no event follows
    bool settled_ = false;
    std::string stopped_for_;
};

} // namespace chalk::backend
