/// A run's websocket: a listener of the chalk host on the run's port, and a file beside the transcript that tells the
/// owner how to reach it (docs/protocols/websocket.md).
///
/// Owner: the run actor; the listener and the file go with it.
#pragma once

#include "actors/run/run_order.hpp"
#include "protocol/websocket/feed.hpp"

#include <memory>

namespace chalk::actors {

class websocket_sink {
  public:
    websocket_sink(std::shared_ptr<websocket::feed> feed, std::filesystem::path access_file);
    ~websocket_sink();
    websocket_sink(const websocket_sink&) = delete;
    websocket_sink& operator=(const websocket_sink&) = delete;

    void publish(const event_ptr& e) { feed_->publish(e); }

  private:
    std::shared_ptr<websocket::feed> feed_;
    std::filesystem::path access_file_;
};

/// `<transcript stem>_websocket.json` beside the transcript.
[[nodiscard]] std::filesystem::path websocket_access_file(const std::filesystem::path& transcript_file);

/// Null when the run has no websocket_port. error_class::config when the port is taken or the file cannot be written.
[[nodiscard]] result<std::unique_ptr<websocket_sink>> open_websocket_sink(boost::asio::io_context& io,
                                                                          const run_order& order);

} // namespace chalk::actors
