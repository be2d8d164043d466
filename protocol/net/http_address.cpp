#include "protocol/net/http_client.hpp"

#include <fmt/format.h>

#include <charconv>

#include <sys/un.h>

namespace chalk::net {

namespace {

failure no_address(std::string_view text, std::string_view why) {
    return config_failure(
        fmt::format("\"{}\" is no address: {}; expected the path of a unix socket or HOST:PORT", text, why));
}

} // namespace

result<http_address> http_address::parse(std::string_view text) {
    const auto given = text;
    for (const std::string_view scheme : {"unix:", "http://"}) {
        if (text.starts_with(scheme)) {
            text.remove_prefix(scheme.size());
        }
    }
    if (text.starts_with('/') && !given.starts_with("http")) {
        if (text.size() >= sizeof(sockaddr_un::sun_path)) {
            return no_address(given,
                              fmt::format("a socket's path has at most {} bytes", sizeof(sockaddr_un::sun_path) - 1));
        }
        return http_address{std::string(text), {}, 0};
    }
    if (text.ends_with('/')) {
        text.remove_suffix(1);
    }
    const auto colon = text.rfind(':');
    if (colon == std::string_view::npos || colon == 0) {
        return no_address(given, "there is no port");
    }
    auto host = text.substr(0, colon);
    const auto digits = text.substr(colon + 1);
    std::uint16_t port = 0;
    const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), port);
    if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size() || port == 0) {
        return no_address(given, "the port is no number from 1 to 65535");
    }
    if (host.starts_with('[') && host.ends_with(']')) {
        host = host.substr(1, host.size() - 2);
    }
    if (host.empty() || host.find_first_of("/@ ") != std::string_view::npos) {
        return no_address(given, "the host is no name");
    }
    return http_address{{}, std::string(host), port};
}

std::string http_address::text() const {
    if (!path.empty()) {
        return path;
    }
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string_view http_head::header(std::string_view name) const noexcept {
    for (const auto& [key, value] : headers) {
        if (key == name) {
            return value;
        }
    }
    return {};
}

} // namespace chalk::net
