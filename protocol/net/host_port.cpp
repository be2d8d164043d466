#include "protocol/net/host_port.hpp"

#include <fmt/format.h>

#include <charconv>

namespace chalk {

result<host_port> parse_host_port(std::string_view text, bool any_port) {
    const auto refuse = [&](std::string_view cause) {
        return config_failure(fmt::format("\"{}\" is not HOST:PORT: {}", text, cause));
    };
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon + 1 == text.size()) {
        return refuse("it has no port");
    }
    host_port out;
    std::string_view host = text.substr(0, colon);
    const std::string_view port = text.substr(colon + 1);
    const auto [end, trouble] = std::from_chars(port.data(), port.data() + port.size(), out.port);
    if (trouble != std::errc{} || end != port.data() + port.size() || (out.port == 0 && !any_port)) {
        return refuse(fmt::format("a port is a number from {} to 65535", any_port ? 0 : 1));
    }
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
        host = host.substr(1, host.size() - 2);
    } else if (host.find(':') != std::string_view::npos) {
        return refuse("an IPv6 address stands in brackets");
    }
    if (host.empty() || host.find_first_of(" \t\r\n/[]@") != std::string_view::npos) {
        return refuse("that is no host");
    }
    out.host = host;
    return out;
}

} // namespace chalk
