/// The host's end of a sandbox's channel: turns its lines into messages to the run actor, with credits: when the run
/// lags, nothing more is read, the socket fills up, and the harness's agent pauses.
///
/// Owner: the run's sandbox site. Letting go of it closes the channel, which ends the harness.
#pragma once

#include "actors/run/interfaces.hpp"
#include "protocol/host_channel/channel.hpp"

#include <atomic>
#include <memory>
#include <string>

namespace chalk::actors {

class event_relay {
  public:
    /// Events that may be on their way to the run actor before reading pauses.
    static constexpr int credits = 512;

    /// Takes over the socket and sends `start_line` as the first message.
    [[nodiscard]] static result<std::unique_ptr<event_relay>> open(boost::asio::io_context& io, unique_fd socket,
                                                                   std::string start_line, const run_actor& target);
    ~event_relay();
    event_relay(const event_relay&) = delete;
    event_relay& operator=(const event_relay&) = delete;

    void send(std::string line);
    /// The run actor worked one event off.
    void event_done();

  private:
    struct shared;
    explicit event_relay(std::shared_ptr<shared> state) : state_(std::move(state)) {}

    std::shared_ptr<shared> state_;
};

} // namespace chalk::actors
