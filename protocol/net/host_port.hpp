/// "HOST:PORT" as people type it: a name, an IPv4 address, or an IPv6 one in brackets.
#pragma once

#include "protocol/core/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace chalk {

struct host_port {
    std::string host; ///< without brackets
    std::uint16_t port = 0;
};

/// error_class::config says what is wrong with `text`. `any_port`: 0 may stand for whichever is free.
[[nodiscard]] result<host_port> parse_host_port(std::string_view text, bool any_port = false);

} // namespace chalk
