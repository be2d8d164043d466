#include "protocol/mcp/connection.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/stateless.hpp"
#include "protocol/mcp/versions.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/read.hpp>

#include <algorithm>
#include <utility>

#include <sys/socket.h>

namespace chalk::mcp {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr std::uint64_t most_body = 16U << 20U;
constexpr std::uint32_t most_header = 32U << 10U;
constexpr seconds idle_deadline{300};
constexpr seconds request_deadline{30};

} // namespace

connection::connection(asio::io_context& io, asio::ip::tcp::socket socket, std::shared_ptr<tool_host> host,
                       std::shared_ptr<const access_rules> rules, std::function<void(const connection*)> ended)
    : io_(io), stream_(std::move(socket)), host_(std::move(host)), rules_(std::move(rules)), ended_(std::move(ended)) {
    boost::system::error_code ignored; // slower without it, not wrong
    stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
}

connection::~connection() = default;

void connection::start() {
    wait_for_request();
}

void connection::close() {
    boost::system::error_code ignored; // it may be closed already
    stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
    stream_.close();
    if (auto under_way = std::exchange(current_, nullptr)) {
        under_way->carrier_lost();
    }
    if (auto of = std::exchange(streamed_, nullptr)) {
        of->stream = nullptr;
        of->end_stream = nullptr;
    }
    if (auto ended = std::exchange(ended_, nullptr)) {
        ended(this);
    }
}

/// The wait between requests and the time for one have deadlines of their own: a client that sends a byte a minute
/// holds a connection no longer than one that sends none.
void connection::wait_for_request() {
    idle_ = true;
    if (buffer_.size() > 0) {
        read_header();
        return;
    }
    stream_.expires_after(idle_deadline);
    stream_.async_read_some(buffer_.prepare(8U * 1024U),
                            [self = shared_from_this()](const boost::system::error_code& failed, std::size_t n) {
                                if (failed) {
                                    self->close();
                                    return;
                                }
                                self->buffer_.commit(n);
                                self->read_header();
                            });
}

void connection::read_header() {
    idle_ = false;
    parser_.emplace();
    parser_->body_limit(most_body);
    parser_->header_limit(most_header);
    stream_.expires_after(request_deadline);
    http::async_read_header(
        stream_, buffer_, *parser_, [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
            if (failed == http::error::header_limit) {
                self->reject({http::status::request_header_fields_too_large, "too long a header"}, true);
            } else if (failed == http::error::body_limit) {
                self->reject({http::status::payload_too_large, "a body has at most 16 MiB"}, true);
            } else if (failed.category() == http::make_error_code(http::error::bad_field).category() &&
                       failed != http::error::end_of_stream && failed != http::error::partial_message) {
                self->reject({http::status::bad_request, "not HTTP: " + failed.message()}, true);
            } else if (failed) {
                self->close();
            } else {
                self->on_header();
            }
        });
}

void connection::on_header() {
    const auto& request = parser_->get();
    auto refused = check_access(request, *rules_);
    if (!refused && request.method() == http::verb::post) {
        refused = check_post(request);
    }
    if (refused) {
        // A body that was not read would be taken for the next request.
        reject(*refused, !parser_->is_done());
        return;
    }
    if (beast::iequals(request[http::field::expect], "100-continue")) {
        static constexpr std::string_view go_on = "HTTP/1.1 100 Continue\r\n\r\n";
        asio::async_write(stream_, asio::buffer(go_on.data(), go_on.size()),
                          [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                              if (failed) {
                                  self->close();
                              } else {
                                  self->read_body();
                              }
                          });
        return;
    }
    read_body();
}

void connection::read_body() {
    if (parser_->is_done()) {
        on_request();
        return;
    }
    http::async_read(stream_, buffer_, *parser_,
                     [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                         if (failed == http::error::body_limit) {
                             self->reject({http::status::payload_too_large, "a body has at most 16 MiB"}, true);
                         } else if (failed) {
                             self->close();
                         } else {
                             self->on_request();
                         }
                     });
}

void connection::on_request() {
    const auto& request = parser_->get();
    if (request.method() == http::verb::post) {
        on_post();
        return;
    }
    if (request["MCP-Protocol-Version"] == stateless_version) {
        reject({http::status::method_not_allowed, "2026-07-28 has no sessions: POST is what this path takes"});
        return;
    }
    const auto of = version_is_fine() ? session_of_request() : nullptr;
    if (!of) {
        return;
    }
    if (request.method() == http::verb::delete_) {
        host_->end_session(std::string(of->id));
        respond(http::status::ok, {});
    } else {
        on_get(of);
    }
}

bool connection::version_is_fine() {
    const std::string_view version = parser_->get()["MCP-Protocol-Version"];
    if (version.empty() || is_session_version(version)) {
        return true;
    }
    reject_rpc(nullptr, unsupported_version(version));
    return false;
}

std::shared_ptr<session> connection::session_of_request() {
    const auto id = std::string(parser_->get()["Mcp-Session-Id"]);
    auto found = host_->find_session(id);
    if (!found) {
        reject(id.empty() ? rejection{http::status::bad_request, "the Mcp-Session-Id header is missing"}
                          : rejection{http::status::not_found, "no such session"});
    }
    return found;
}

void connection::on_get(const std::shared_ptr<session>& of) {
    const auto& request = parser_->get();
    if (!accepts(request[http::field::accept], "text/event-stream")) {
        reject({http::status::not_acceptable, "a stream is text/event-stream"});
        return;
    }
    if (const auto seen = parse_event_id(request["Last-Event-ID"])) {
        const auto found = of->exchanges.find(seen->exchange);
        if (found != of->exchanges.end()) {
            current_ = found->second;
            current_session_ = of;
            current_->resume(weak_from_this(), seen->sequence);
            return;
        }
    }
    if (of->stream) {
        reject({http::status::conflict, "this session has a stream already"});
    } else {
        open_session_stream(of);
    }
}

void connection::on_post() {
    const auto& request = parser_->get();
    const auto parsed = parse_body(request.body());
    if (const auto* wrong = std::get_if<rpc_failure>(&parsed)) {
        reject_rpc(nullptr, *wrong);
        return;
    }
    const auto& body = std::get<message_body>(parsed);
    const bool stateless = std::any_of(body.messages.begin(), body.messages.end(),
                                       [&](const json& message) { return is_stateless(request, message); });
    if (stateless) {
        on_stateless_post(body);
    } else {
        on_session_post(body);
    }
}

void connection::on_stateless_post(const message_body& body) {
    if (body.batch) {
        reject_rpc(nullptr, {rpc_error::invalid_request, "this protocol version has no batches", nullptr});
        return;
    }
    const auto& message = body.messages.front();
    auto wrong = check_stateless(parser_->get(), message);
    if (!wrong) {
        wrong = host_->check_mirrored(parser_->get(), message);
    }
    if (wrong) {
        reject_rpc(message.value("id", json()), *wrong);
        return;
    }
    carry(tool_host::stateless_session(message.value("params", json::object())), body);
}

void connection::on_session_post(const message_body& body) {
    const auto& first = body.messages.front();
    if (!body.batch && parser_->get()["Mcp-Session-Id"].empty() && is_request(first) &&
        first["method"] == "initialize") {
        initialize(first["id"], first.value("params", json::object()));
        return;
    }
    const auto from = version_is_fine() ? session_of_request() : nullptr;
    if (!from) {
        return;
    }
    if (body.batch && !allows_batches(from->version)) {
        reject_rpc(nullptr, {rpc_error::invalid_request, "this protocol version has no batches", nullptr});
        return;
    }
    carry(from, body);
}

void connection::initialize(const json& id, const json& params) {
    const auto made = host_->open_session(params);
    if (!made) {
        reject({http::status::service_unavailable, "too many sessions are in use"});
        return;
    }
    respond(http::status::ok, dump_json(make_result(id, tool_host::initialize_result(*made))), made->id);
}

void connection::carry(const std::shared_ptr<session>& from, const message_body& body) {
    const auto work = std::make_shared<exchange>(io_, host_, from, body.batch);
    current_ = work;
    current_session_ = from;
    work->start(weak_from_this(), body.messages);
    if (current_ == work) { // something is still to come
        if (!writing_) {
            stream_.expires_never(); // a tool may take its time; the client is watched instead
        }
        watch_client();
    }
}

/// While a call is under way: has the client gone? Bytes of a next request end the watch.
void connection::watch_client() {
    stream_.socket().async_wait(asio::ip::tcp::socket::wait_read, [weak = weak_from_this()](const auto& failed) {
        const auto self = weak.lock();
        if (!self || failed || !self->current_) {
            return;
        }
        char byte = 0;
        const auto n = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
            self->close();
        } else if (n < 0) {
            self->watch_client();
        }
    });
}

} // namespace chalk::mcp
