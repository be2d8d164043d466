/// Which HTTP proxy the environment names for a connection that libcurl does not make, by libcurl's rules
/// (libcurl-env(3), CURLOPT_NOPROXY(3)), and what is said to it: CONNECT (RFC 9110, section 9.3.6). Pure.
#pragma once

#include "protocol/core/result.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::net {

struct http_proxy {
    std::string host; ///< without brackets
    std::uint16_t port = 0;
    std::string authorization; ///< "Basic ..."; empty: none. Never print it

    /// HOST:PORT, for people.
    [[nodiscard]] std::string name() const;
    /// The whole request for a tunnel to `host`, without brackets, and `port`.
    [[nodiscard]] std::string connect_request(const std::string& host, std::uint16_t port) const;
};

/// HOST:PORT, with brackets around what has colons.
[[nodiscard]] std::string host_and_port(const std::string& host, std::uint16_t port);

/// For a connection to `host` (no brackets) that is to be encrypted, or not: of https_proxy, HTTPS_PROXY or http_proxy,
/// then all_proxy and ALL_PROXY, the first that is set, unless no_proxy or NO_PROXY has `host` or it is this machine's.
/// `variable` gives an empty text for one that is not set. error_class::config, without a password, for a proxy that is
/// no http:// one.
[[nodiscard]] result<std::optional<http_proxy>> find_proxy(std::string_view host, bool secure,
                                                           const std::function<std::string(const char*)>& variable);

/// Does `list`, a no_proxy, have `host`? Names count for what ends in them, addresses also as networks (10.0.0.0/8).
[[nodiscard]] bool is_exempt(std::string_view host, std::string_view list);

} // namespace chalk::net
