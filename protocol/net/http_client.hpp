/// A small HTTP/1.1 client for one server that is near: a unix socket or a TCP port, plain text, one POST at a time,
/// its response handed over as it comes (RFC 9112). It keeps its connection between requests, and never sends a request
/// twice.
///
/// Lives on the io thread, which alone may call it; keeps itself alive while a request is open.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalk::net {

/// Where the server is: `path` of a unix socket, or `host` and `port`.
struct http_address {
    std::string path;
    std::string host;
    std::uint16_t port = 0;

    /// "/run/gateway.sock", "unix:/run/gateway.sock", "127.0.0.1:8080", "[::1]:8080", "http://localhost:8080".
    /// error_class::config for anything else.
    [[nodiscard]] static result<http_address> parse(std::string_view text);
    [[nodiscard]] std::string text() const;
};

struct http_request {
    std::string target;
    std::vector<std::pair<std::string, std::string>> headers; ///< host and content-length are added
    std::string body;
};

struct http_head {
    unsigned status = 0;
    std::vector<std::pair<std::string, std::string>> headers; ///< names in lower case

    /// The first value of a header, `name` in lower case; empty where there is none.
    [[nodiscard]] std::string_view header(std::string_view name) const noexcept;
};

/// Why a response is not whole.
struct http_problem {
    enum class what {
        connect, ///< the server was not reached: nothing was sent
        broken,  ///< the connection ended or what came was not HTTP
        deadline ///< time was up
    };
    what kind = what::broken;
    std::string message;
};

/// Run on the io thread. After on_end, and after cancel(), none of them runs any more.
struct http_handlers {
    std::function<void(const http_head&)> on_head;
    /// False: the owner has heard enough; the connection ends and on_end comes without a problem.
    std::function<bool(std::string_view)> on_data;
    std::function<void(std::optional<http_problem>)> on_end;
};

struct http_client_options {
    milliseconds connect{
        10'000}; ///< for a server that restarts: it is tried again until then, nothing having been sent
    milliseconds retry_connect{50};
};

class http_client {
  public:
    [[nodiscard]] static std::shared_ptr<http_client> make(boost::asio::io_context& io, http_address where,
                                                           http_client_options options = {});
    http_client() = default;
    http_client(const http_client&) = delete;
    http_client& operator=(const http_client&) = delete;
    virtual ~http_client() = default;

    /// No request may be open.
    virtual void post(http_request what, milliseconds deadline, http_handlers handlers) = 0;
    /// From now on the open request has at most this long.
    virtual void shorten(milliseconds deadline) = 0;
    /// Drops the open request and the connection.
    virtual void cancel() = 0;
};

} // namespace chalk::net
