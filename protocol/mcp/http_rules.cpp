#include "protocol/mcp/http_rules.hpp"

#include <boost/beast/core/string.hpp>
#include <openssl/crypto.h>

#include <algorithm>

namespace chalk::mcp {
namespace http = boost::beast::http;
namespace {

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view()
                                           : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

bool same(std::string_view a, std::string_view b) {
    return boost::beast::iequals(a, b);
}

/// The first part of a header's element, without its parameters.
std::string_view media_type(std::string_view element) {
    return trimmed(element.substr(0, element.find(';')));
}

bool is_token(std::string_view header_value, std::string_view token) {
    constexpr std::string_view scheme = "bearer ";
    if (header_value.size() < scheme.size() || !same(header_value.substr(0, scheme.size()), scheme)) {
        return false;
    }
    const auto given = trimmed(header_value.substr(scheme.size()));
    // The length is no secret; where the first difference is must not show in the time that this takes.
    return given.size() == token.size() && ::CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

} // namespace

bool is_local_authority(std::string_view authority, std::string_view also) {
    std::string_view host = authority;
    std::string_view port;
    if (host.starts_with('[')) {
        const auto end = host.find(']');
        if (end == std::string_view::npos) {
            return false;
        }
        port = host.substr(end + 1);
        host = host.substr(0, end + 1);
    } else if (const auto colon = host.find(':'); colon != std::string_view::npos) {
        port = host.substr(colon);
        host = host.substr(0, colon);
    }
    const bool port_is_fine = port.empty() || (port.size() > 1 && port.front() == ':' &&
                                               port.find_first_not_of("0123456789", 1) == std::string_view::npos);
    const auto bare = host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
    return port_is_fine &&
           (same(host, "localhost") || host == "127.0.0.1" || bare == "::1" || (!also.empty() && same(bare, also)));
}

bool accepts(std::string_view accept, std::string_view type) {
    const auto group = type.substr(0, type.find('/'));
    while (!accept.empty()) {
        const auto end = std::min(accept.find(','), accept.size());
        const auto element = media_type(accept.substr(0, end));
        if (same(element, type) || element == "*/*" ||
            (element.ends_with("/*") && same(element.substr(0, element.size() - 2), group))) {
            return true;
        }
        accept.remove_prefix(std::min(end + 1, accept.size()));
    }
    return false;
}

std::optional<rejection> check_access(const header& request, const access_rules& rules) {
    const auto count = request.count(http::field::host);
    if (count != 1) {
        return rejection{http::status::bad_request, "a request has exactly one Host header"};
    }
    if (!is_local_authority(request[http::field::host], rules.listen_host)) {
        return rejection{http::status::forbidden, "this server is not known under the name in the Host header"};
    }
    if (request.count(http::field::origin) > 0) {
        std::string_view origin = request[http::field::origin];
        const auto scheme = origin.starts_with("http://") ? 7U : origin.starts_with("https://") ? 8U : 0U;
        if (scheme == 0 || !is_local_authority(origin.substr(scheme), rules.listen_host)) {
            return rejection{http::status::forbidden, "requests from this Origin are not taken"};
        }
    }
    if (!rules.bearer_token.empty() && !is_token(request[http::field::authorization], rules.bearer_token)) {
        return rejection{http::status::unauthorized, "a bearer token is needed"};
    }
    const std::string_view target = request.target();
    if (target.substr(0, target.find('?')) != "/mcp") {
        return rejection{http::status::not_found, "the tool server's path is /mcp"};
    }
    if (request.method() != http::verb::post && request.method() != http::verb::get &&
        request.method() != http::verb::delete_) {
        return rejection{http::status::method_not_allowed, "POST, GET and DELETE are what this path takes"};
    }
    return std::nullopt;
}

std::optional<rejection> check_post(const header& request) {
    const std::string_view accept = request[http::field::accept];
    if (!accepts(accept, "application/json") || !accepts(accept, "text/event-stream")) {
        return rejection{http::status::not_acceptable,
                         "a client must accept both application/json and text/event-stream"};
    }
    if (!same(media_type(request[http::field::content_type]), "application/json")) {
        return rejection{http::status::unsupported_media_type, "the Content-Type must be application/json"};
    }
    return std::nullopt;
}

} // namespace chalk::mcp
