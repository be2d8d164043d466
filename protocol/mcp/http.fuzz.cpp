// Any bytes from a client are a request that the rules take or refuse with a reason, and a body that is messages or a
// failure with a message. What was taken survives being written and read again.

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/exchange.hpp"
#include "protocol/mcp/param_headers.hpp"
#include "protocol/mcp/stateless.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <cstdlib>

namespace {

namespace http = boost::beast::http;
using namespace chalk::mcp;

void require(bool holds) {
    if (!holds) {
        std::abort();
    }
}

void check_body(const header& head, std::string_view text) {
    const auto parsed = parse_body(text);
    if (const auto* wrong = std::get_if<rpc_failure>(&parsed)) {
        require(!wrong->message.empty());
        return;
    }
    const auto& body = std::get<message_body>(parsed);
    require(!body.messages.empty() && body.messages.size() <= most_batch);
    for (const auto& message : body.messages) {
        const auto again = parse_body(chalk::dump_json(message));
        const auto* same = std::get_if<message_body>(&again);
        require(same != nullptr && !same->batch && same->messages.front() == message);
        if (is_stateless(head, message)) {
            const auto refused = check_stateless(head, message);
            require(!refused || !refused->message.empty());
            static_cast<void>(check_param_headers(head, {{"A", {"a"}}, {"B", {"b", "c"}}}, message));
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    check_body({}, text);
    static_cast<void>(decode_header_text(text));
    static_cast<void>(parse_event_id(text));

    http::request_parser<http::string_body> parser;
    parser.body_limit(1U << 20U);
    parser.header_limit(32U << 10U);
    parser.eager(true);
    boost::system::error_code failed;
    parser.put(boost::asio::buffer(text.data(), text.size()), failed);
    if (parser.is_header_done()) {
        const auto& request = parser.get();
        static_cast<void>(check_access(request, {"10.0.0.1", "token"}));
        static_cast<void>(check_post(request));
        if (parser.is_done()) {
            check_body(request, request.body());
        }
    }
    return 0;
}
