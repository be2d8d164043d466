#include "protocol/backend/target.hpp"

#include "protocol/websocket/feed.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

namespace chalk::backend {

namespace {

struct known_scheme {
    std::string_view prefix;
    bool secure;
    bool websocket;
};
constexpr std::array<known_scheme, 4> schemes = {
    {{"http://", false, false}, {"https://", true, false}, {"ws://", false, true}, {"wss://", true, true}}};
constexpr std::uint16_t plain_port = 80;
constexpr std::uint16_t secure_port = 443;

failure wrong(std::string_view why) {
    return config_failure(
        fmt::format("expected an address that begins with http://, https://, ws:// or wss://: {}", why));
}

/// "host", "host:1", "[::1]", "[::1]:1". False: it is none.
bool read_authority(std::string_view text, uri& into) {
    std::string_view port;
    bool has_port = false;
    if (text.starts_with('[')) {
        const auto end = text.find(']');
        if (end == std::string_view::npos) {
            return false;
        }
        into.host = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        has_port = text.starts_with(':');
        if (!text.empty() && !has_port) {
            return false;
        }
        port = has_port ? text.substr(1) : std::string_view{};
    } else {
        const auto colon = text.find(':');
        has_port = colon != std::string_view::npos;
        into.host = text.substr(0, colon);
        port = has_port ? text.substr(colon + 1) : std::string_view{};
    }
    if (has_port) {
        const auto [end, failed] = std::from_chars(port.data(), port.data() + port.size(), into.port);
        if (failed != std::errc{} || end != port.data() + port.size() || into.port == 0) {
            return false;
        }
    }
    return !into.host.empty();
}

} // namespace

result<uri> parse_uri(std::string_view text) {
    const auto* scheme = std::find_if(schemes.begin(), schemes.end(),
                                      [text](const known_scheme& one) { return text.starts_with(one.prefix); });
    if (scheme == schemes.end()) {
        return wrong("it begins otherwise");
    }
    if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c == '\x7f' || c == '#'; })) {
        return wrong("there is a space, a control character or a # in it");
    }
    uri out;
    out.secure = scheme->secure;
    out.websocket = scheme->websocket;
    out.port = out.secure ? secure_port : plain_port;
    text.remove_prefix(scheme->prefix.size());
    const auto path = std::min(text.find_first_of("/?"), text.size());
    const auto authority = text.substr(0, path);
    if (authority.find('@') != std::string_view::npos) {
        return wrong(fmt::format("a user or password does not belong here; put a token into {}", token_variable));
    }
    if (!read_authority(authority, out)) {
        return wrong("a host and, after a colon, a port from 1 to 65535 come next");
    }
    out.target = text.substr(path);
    if (!out.target.starts_with('/')) {
        out.target.insert(0, "/");
    }
    return out;
}

std::string uri::authority() const {
    const auto name = host.find(':') == std::string::npos ? host : "[" + host + "]";
    return port == (secure ? secure_port : plain_port) ? name : fmt::format("{}:{}", name, port);
}

std::string uri::display() const {
    return fmt::format("{}{}://{}{}", websocket ? "ws" : "http", secure ? "s" : "", authority(),
                       target.substr(0, target.find('?')));
}

result<std::string> make_stream_salt() {
    constexpr std::size_t digits = 32;
    auto random = websocket::make_token();
    if (random) {
        random->resize(digits);
    }
    return random;
}

} // namespace chalk::backend
