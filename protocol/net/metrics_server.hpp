/// Serves one page, GET /metrics, in the OpenMetrics text format 1.0
/// (https://github.com/OpenObservability/OpenMetrics), over HTTP/1.1 without TLS. What it shows is for whoever can
/// reach the address.
///
/// Owner: the command. Its death closes the port and every connection.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/net/host_port.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace chalk {

inline constexpr std::string_view openmetrics_type = "application/openmetrics-text; version=1.0.0; charset=utf-8";

class metrics_server {
  public:
    /// Called on the io thread for each request; `answer` is called once, from any thread, with the page, which ends in
    /// "# EOF\n". One that is dropped without a call ends the connection.
    using renderer = std::function<void(std::function<void(std::string)> answer)>;

    /// Listening when it returns. error_class::config: the address cannot be used. Connections are few: beyond sixteen
    /// a new one is closed at once; a request has ten seconds and 8 KiB.
    [[nodiscard]] static result<std::unique_ptr<metrics_server>> listen(boost::asio::io_context& io,
                                                                        const host_port& where, renderer render);
    metrics_server() = default;
    metrics_server(const metrics_server&) = delete;
    metrics_server& operator=(const metrics_server&) = delete;
    virtual ~metrics_server() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
};

} // namespace chalk
