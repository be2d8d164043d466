/// One POST's requests and what goes back for them: one JSON body as a rule, a stream of events as soon as something is
/// to be said before the last answer.
///
/// Owned by the connection that carries it, by the calls that it waits for and, once it streams, by its session, so
/// that a client that lost its connection can take the rest with `Last-Event-ID`. Lives on the io thread.
/// Specification: modelcontextprotocol.io, 2025-11-25, "Transports", "Resumability and Redelivery".
#pragma once

#include "protocol/mcp/tool_host.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::mcp {

/// What brings an exchange's answers to the client: a connection. It is used for send_whole, or for begin_events, any
/// number of events and end_events; then the exchange has let go of it. One that breaks says so by carrier_lost.
class carrier {
  public:
    carrier() = default;
    carrier(const carrier&) = delete;
    carrier& operator=(const carrier&) = delete;
    virtual ~carrier() = default;
    /// All there is to say; nullopt: nothing.
    virtual void send_whole(std::optional<json> body) = 0;
    virtual void begin_events() = 0;
    virtual void send_event(const std::string& text) = 0;
    virtual void end_events() = 0;
};

/// `number-sequence`, the id of an event.
struct event_id {
    std::uint64_t exchange = 0;
    std::uint64_t sequence = 0;
};
[[nodiscard]] std::optional<event_id> parse_event_id(std::string_view text);

class exchange : public std::enable_shared_from_this<exchange> {
  public:
    exchange(boost::asio::io_context& io, const std::shared_ptr<tool_host>& host, const std::shared_ptr<session>& from,
             bool batch);

    /// Hands the messages to the host; answers come to `to`, some perhaps before this returns.
    void start(std::weak_ptr<carrier> to, const std::vector<json>& messages);
    /// Something is still to come.
    [[nodiscard]] bool open() const noexcept { return open_ > 0; }
    /// A message that belongs to a call that is under way.
    void notify(const json& message);
    /// Ends the stream that carries the events so far; what comes is kept for a client that comes back. Nothing happens
    /// when the client's version does not know how.
    void end_stream();
    /// The connection is gone. Calls whose answers cannot be fetched any more are cancelled.
    void carrier_lost();
    /// Sends what came after event `seen` to `to`, and then whatever comes.
    void resume(std::weak_ptr<carrier> to, std::uint64_t seen);
    /// For good: cancels the calls.
    void abandon();

  private:
    struct kept_event {
        std::uint64_t sequence = 0;
        std::string text;
    };

    [[nodiscard]] call_route route();
    void answered(std::optional<json> response);
    void begin_stream();
    void push(std::string event);
    void finish_stream();
    void wait_for_client();

    boost::asio::steady_timer patience_; ///< for a client to come back
    // Weak: both know this exchange while it is theirs.
    std::weak_ptr<tool_host> host_;
    std::weak_ptr<session> from_;
    std::shared_ptr<session> own_session_; ///< of a version without: nobody else keeps it
    std::string version_;
    std::weak_ptr<carrier> carrier_;
    bool batch_;
    bool streaming_ = false;
    bool ended_ = false; ///< the last answer was sent or kept
    std::size_t open_ = 0;
    json answers_ = json::array();
    std::vector<std::uint64_t> calls_;
    std::uint64_t number_ = 0; ///< in this server; 0: not resumable
    std::uint64_t last_sequence_ = 0;
    std::deque<kept_event> kept_;
    std::size_t kept_bytes_ = 0;
};

} // namespace chalk::mcp
