/// One way to a backend: a request goes there as text, its answer comes back as text. Over HTTP each request is a POST;
/// over websockets the connection is kept, and made anew with the next request after it broke.
///
/// Owner: a sender or a message desk. All of it belongs to the io thread.
#pragma once

#include "protocol/backend/delivery.hpp"
#include "protocol/backend/target.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>

namespace chalk::backend {

inline constexpr milliseconds connect_deadline{10'000};
/// Without a word: over websockets a ping goes out after half of it.
inline constexpr milliseconds silence_deadline{30'000};
inline constexpr std::size_t most_answer = std::size_t{32} << 20U;

/// Called by boost::system::result when value() is asked of a trouble: a programming error.
[[noreturn]] void throw_exception_from_error(const trouble& why, const boost::source_location&);

using carrier_answer = boost::system::result<std::string, trouble>;

struct carrier_request {
    std::string body;
    std::string idempotency_key; ///< a header of HTTP; the same for the same request
    milliseconds deadline{0};    ///< for all of it
};

class carrier {
  public:
    /// Connects with the first request. The target's address is one that parse_uri takes.
    [[nodiscard]] static std::shared_ptr<carrier> make(boost::asio::io_context& io, const target& to);
    carrier() = default;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;
    virtual ~carrier() = default;

    /// One at a time. `done` runs once, never from within this call.
    virtual void ask(carrier_request what, std::function<void(carrier_answer)> done) = 0;
    /// Ends the open request without a word, and the connection.
    virtual void cancel() = 0;
};

/// Of carrier::make: ws and wss.
[[nodiscard]] std::shared_ptr<carrier> make_websocket_carrier(boost::asio::io_context& io, const uri& where,
                                                              const target& to);

} // namespace chalk::backend
