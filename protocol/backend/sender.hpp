/// Sends one stream's events to its backend: carries out what delivery decides, over a carrier, with a timer for its
/// pauses.
///
/// Owner: the backend sink, or `chalk backend send`. Dropping it drops what is under way.
#pragma once

#include "protocol/backend/delivery.hpp"
#include "protocol/backend/target.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>

namespace chalk::backend {

inline constexpr milliseconds events_deadline{60'000}; ///< from a request with events to its answer

/// Run on the io thread.
struct sender_handlers {
    std::function<void(const delivery::say&)> on_say;
    /// Last.
    std::function<void(const delivery::settle&)> on_settled;
};

class sender {
  public:
    [[nodiscard]] static std::unique_ptr<sender> make(boost::asio::io_context& io, const target& to, const stream& of,
                                                      sender_handlers on);
    sender() = default;
    sender(const sender&) = delete;
    sender& operator=(const sender&) = delete;
    /// Any thread. No handler begins to run from now on, but for one that is running.
    virtual ~sender() = default;

    /// Any thread, in the order of the events' numbers, from 1.
    virtual void publish(std::string line, bool final) = 0;
    /// Any thread: no final event will come.
    virtual void end() = 0;
};

} // namespace chalk::backend
