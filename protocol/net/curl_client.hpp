/// HTTP/1.1 requests to servers elsewhere (providers of models): libcurl's multi interface driven by Asio on the io
/// thread. A body streams to its handlers as it arrives, may be paused, and a transfer may be cancelled at any time.
/// One connection a request: what breaks one response breaks no other.
///
/// Owner: the gateway. All of it belongs to the io thread; only load_curl_library may run elsewhere before.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalk::curl {

using http_headers = std::vector<std::pair<std::string, std::string>>;

/// The first value of that name, whatever its case; empty if there is none.
[[nodiscard]] std::string_view find_header(const http_headers& headers, std::string_view name) noexcept;

struct http_request {
    std::string method = "POST";
    std::string url; ///< http or https
    http_headers headers;
    std::shared_ptr<const std::string> body; ///< null: none
    milliseconds connect_deadline{30'000};
    milliseconds idle_deadline{600'000}; ///< without a byte, paused time excluded
    milliseconds deadline{1'800'000};    ///< for all of it
};

/// Status and headers; names in lower case.
struct http_head {
    unsigned status = 0;
    http_headers headers;
};

/// Called on the io thread, never from within http_client::start. A failure's message never holds a header or a URL's
/// user part.
struct http_handlers {
    std::function<void(http_head)> on_head;
    std::function<void(std::string_view)> on_data;
    /// Once, last. error_class::timeout when a deadline passed, error_class::model for all else. Never after cancel.
    std::function<void(result<void>)> on_end;
};

/// One request under way. The owner's pointer keeps nothing alive: dropping it cancels.
class http_transfer {
  public:
    http_transfer() = default;
    http_transfer(const http_transfer&) = delete;
    http_transfer& operator=(const http_transfer&) = delete;
    virtual ~http_transfer() = default;

    /// No data from now on, beyond what is being delivered. The server is held back by TCP.
    virtual void pause() = 0;
    virtual void resume() = 0;
    /// Ends it without a word.
    virtual void cancel() = 0;
};

struct http_client_options {
    std::string ca_file;   ///< PEM; empty: the system's
    bool straight = false; ///< past the proxy that http_proxy and its like name
};

class http_client {
  public:
    /// error_class::model when libcurl cannot be loaded.
    [[nodiscard]] static result<std::unique_ptr<http_client>> make(boost::asio::io_context& io,
                                                                   const http_client_options& options);
    http_client() = default;
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;
    /// Cancels what is under way.
    virtual ~http_client() = default;

    [[nodiscard]] virtual std::unique_ptr<http_transfer> start(http_request what, http_handlers handlers) = 0;
    /// Transfers under way, for tests.
    [[nodiscard]] virtual std::size_t active() const noexcept = 0;
};

} // namespace chalk::curl
