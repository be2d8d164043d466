#include "protocol/net/proxy.hpp"

#include <boost/asio/ip/address.hpp>
#include <boost/asio/ip/network_v4.hpp>
#include <boost/asio/ip/network_v6.hpp>
#include <boost/beast/core/string.hpp>
#include <fmt/format.h>
#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <initializer_list>
#include <utility>

namespace chalk::net {
namespace ip = boost::asio::ip;
namespace {

constexpr std::uint16_t curls_proxy_port = 1080;
constexpr std::array<std::string_view, 3> this_machine = {"127.0.0.1", "localhost", "::1"};

std::string percent_decoded(std::string_view text) {
    std::string out;
    for (std::size_t i = 0; i < text.size(); ++i) {
        unsigned char byte = 0;
        const auto* digits = text.data() + i + 1;
        if (text[i] == '%' && text.size() - i > 2 && std::from_chars(digits, digits + 2, byte, 16).ptr == digits + 2) {
            out += static_cast<char>(byte);
            i += 2;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string base64_of(const std::string& text) {
    std::string out(4 * ((text.size() + 2) / 3) + 1, '\0'); // it ends with a zero
    const auto size =
        ::EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()),
                          reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
    out.resize(static_cast<std::size_t>(size));
    return out;
}

/// [http://][USER:PASSWORD@]HOST[:PORT][/]
std::optional<http_proxy> read_proxy(std::string_view text) {
    if (const auto scheme = text.find("://"); scheme != std::string_view::npos) {
        if (!boost::beast::iequals(text.substr(0, scheme), "http")) {
            return std::nullopt;
        }
        text.remove_prefix(scheme + 3);
    }
    text = text.substr(0, text.find('/'));
    http_proxy out;
    if (const auto at = text.rfind('@'); at != std::string_view::npos) {
        const auto user = text.substr(0, at);
        const auto colon = std::min(user.find(':'), user.size());
        out.authorization = "Basic " + base64_of(percent_decoded(user.substr(0, colon)) + ":" +
                                                 percent_decoded(user.substr(std::min(colon + 1, user.size()))));
        text.remove_prefix(at + 1);
    }
    const bool bracketed = text.starts_with('[');
    const auto end = bracketed ? text.find(']') : std::min(text.rfind(':'), text.size());
    if (end == std::string_view::npos) {
        return std::nullopt;
    }
    out.host = text.substr(bracketed ? 1 : 0, end - (bracketed ? 1 : 0));
    const auto rest = text.substr(std::min(end + (bracketed ? 1 : 0), text.size()));
    out.port = curls_proxy_port;
    if (!rest.empty()) {
        const auto digits = rest.substr(1);
        const auto [stop, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), out.port);
        if (rest.front() != ':' || failed != std::errc{} || stop != digits.data() + digits.size() || out.port == 0) {
            return std::nullopt;
        }
    }
    const bool clean = std::all_of(out.host.begin(), out.host.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    return out.host.empty() || !clean ? std::nullopt : std::optional(std::move(out));
}

/// Is `host` an address within `entry`, an address or a network?
bool is_within(const std::string& host, const std::string& entry) {
    boost::system::error_code no_host;
    boost::system::error_code no_network;
    const auto address = ip::make_address(host, no_host);
    if (no_host) {
        return false;
    }
    const bool single = entry.find('/') == std::string::npos;
    if (address.is_v4()) {
        const auto network = ip::make_network_v4(single ? entry + "/32" : entry, no_network);
        return !no_network &&
               ip::network_v4(address.to_v4(), network.prefix_length()).canonical() == network.canonical();
    }
    const auto network = ip::make_network_v6(single ? entry + "/128" : entry, no_network);
    return !no_network && ip::network_v6(address.to_v6(), network.prefix_length()).canonical() == network.canonical();
}

bool ends_in_name(std::string_view host, std::string_view name) {
    return !name.empty() && host.size() >= name.size() &&
           boost::beast::iequals(host.substr(host.size() - name.size()), name) &&
           (host.size() == name.size() || host[host.size() - name.size() - 1] == '.');
}

std::string_view without_dots(std::string_view name) {
    name.remove_prefix(name.starts_with('.') ? 1 : 0);
    name.remove_suffix(name.ends_with('.') ? 1 : 0);
    return name;
}

} // namespace

std::string host_and_port(const std::string& host, std::uint16_t port) {
    return host.find(':') == std::string::npos ? fmt::format("{}:{}", host, port) : fmt::format("[{}]:{}", host, port);
}

std::string http_proxy::name() const {
    return host_and_port(host, port);
}

std::string http_proxy::connect_request(const std::string& to, std::uint16_t at) const {
    const auto where = host_and_port(to, at);
    return fmt::format("CONNECT {} HTTP/1.1\r\nHost: {}\r\n{}{}{}\r\n", where, where,
                       authorization.empty() ? "" : "Proxy-Authorization: ", authorization,
                       authorization.empty() ? "" : "\r\n");
}

bool is_exempt(std::string_view host, std::string_view list) {
    host = without_dots(host);
    while (!list.empty()) {
        const auto end = std::min(list.find_first_of(", \t"), list.size());
        auto entry = list.substr(0, end);
        list.remove_prefix(std::min(end + 1, list.size()));
        if (entry == "*") {
            return true;
        }
        if (entry.starts_with('[') && entry.ends_with(']')) {
            entry = entry.substr(1, entry.size() - 2);
        }
        if (is_within(std::string(host), std::string(entry)) || ends_in_name(host, without_dots(entry))) {
            return true;
        }
    }
    return false;
}

result<std::optional<http_proxy>> find_proxy(std::string_view host, bool secure,
                                             const std::function<std::string(const char*)>& variable) {
    const auto first = [&](std::initializer_list<const char*> names) {
        for (const auto* name : names) {
            if (auto value = variable(name); !value.empty()) {
                return std::pair(std::string(name), std::move(value));
            }
        }
        return std::pair<std::string, std::string>();
    };
    // HTTP_PROXY is not looked at: to a CGI program it is a header that a client sent.
    const auto [name, value] = secure ? first({"https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
                                      : first({"http_proxy", "all_proxy", "ALL_PROXY"});
    const bool here = std::any_of(this_machine.begin(), this_machine.end(),
                                  [host](std::string_view one) { return boost::beast::iequals(one, host); });
    if (value.empty() || here || is_exempt(host, first({"no_proxy", "NO_PROXY"}).second)) {
        return std::optional<http_proxy>();
    }
    auto found = read_proxy(value);
    if (!found) {
        return config_failure(
            fmt::format("{} names no proxy that can be used here; expected http://[USER:PASSWORD@]HOST[:PORT]", name));
    }
    return found;
}

} // namespace chalk::net
