#include "protocol/websocket/request.hpp"

#include <openssl/crypto.h>

#include <charconv>
#include <optional>

namespace chalk::websocket {

namespace {

constexpr std::string_view bearer = "Bearer ";

bool same_token(std::string_view given, std::string_view token) {
    return !token.empty() && given.size() == token.size() &&
           CRYPTO_memcmp(given.data(), token.data(), token.size()) == 0;
}

struct query {
    std::optional<std::string_view> from;
    std::optional<std::string_view> token;
    std::optional<std::string_view> unknown;
};

query split_query(std::string_view text) {
    query q;
    while (!text.empty()) {
        const auto end = text.find('&');
        const std::string_view part = text.substr(0, end);
        const auto equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        const std::string_view value = equals == std::string_view::npos ? std::string_view{} : part.substr(equals + 1);
        if (name == "from") {
            q.from = value;
        } else if (name == "token") {
            q.token = value;
        } else {
            q.unknown = name;
        }
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    }
    return q;
}

} // namespace

std::variant<subscription, refusal> check_request(std::string_view target, std::string_view authorization,
                                                  std::string_view token) {
    const auto mark = target.find('?');
    const query q = split_query(mark == std::string_view::npos ? std::string_view{} : target.substr(mark + 1));
    const bool by_header =
        authorization.substr(0, bearer.size()) == bearer && same_token(authorization.substr(bearer.size()), token);
    // The token first: a stranger learns nothing else.
    if (!by_header && !(q.token && same_token(*q.token, token))) {
        return refusal{401, "the run's bearer token is needed; it stands in the file beside its transcript"};
    }
    if (target.substr(0, mark) != "/events") {
        return refusal{404, "the run's events are at /events"};
    }
    if (q.unknown) {
        return refusal{400, "unknown parameter " + std::string(*q.unknown) + "; known are from and token"};
    }
    subscription wanted;
    if (q.from) {
        const auto [end, problem] = std::from_chars(q.from->data(), q.from->data() + q.from->size(), wanted.from);
        if (problem != std::errc{} || end != q.from->data() + q.from->size() || wanted.from == 0) {
            return refusal{400, "from must be a sequence number, 1 or more"};
        }
    }
    return wanted;
}

} // namespace chalk::websocket
