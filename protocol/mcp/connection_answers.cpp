// What a connection writes: a whole answer, or a stream of events.

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/connection.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <utility>

namespace chalk::mcp {
namespace asio = boost::asio;
namespace http = boost::beast::http;
namespace {

constexpr std::size_t most_unsent_events = 1U << 20U;
constexpr seconds write_deadline{30};

/// What 2026-07-28 wants beside a method that there is not.
http::status status_of(const session& to, const json& body) {
    const bool unknown = to.stateless() && body.is_object() && body.contains("error") &&
                         body["error"]["code"] == static_cast<int>(rpc_error::method_not_found);
    return unknown ? http::status::not_found : http::status::ok;
}

} // namespace

void connection::send_whole(std::optional<json> body) {
    current_ = nullptr;
    const auto to = std::exchange(current_session_, nullptr);
    if (body) {
        respond(status_of(*to, *body), dump_json(*body));
    } else {
        respond(http::status::accepted, {});
    }
}

void connection::begin_events() {
    begin_event_stream(current_session_->id);
    if (parser_->get().method() == http::verb::get) {
        watch_client();
    }
}

void connection::begin_event_stream(const std::string& session_id) {
    const auto& request = parser_->get();
    // A POST's connection goes on after its stream; a GET's is not used for anything else.
    chunked_ = request.method() == http::verb::post && request.version() >= 11 && request.keep_alive();
    std::string head = "HTTP/1.1 200 OK\r\nServer: chalk\r\nContent-Type: text/event-stream\r\n"
                       "Cache-Control: no-cache\r\n";
    if (!session_id.empty()) {
        head += fmt::format("Mcp-Session-Id: {}\r\n", session_id);
    }
    head += chunked_ ? "Transfer-Encoding: chunked\r\n\r\n" : "Connection: close\r\n\r\n";
    outgoing_bytes_ += head.size();
    outgoing_.push_back(std::move(head));
    write_events();
}

void connection::send_event(const std::string& text) {
    if (outgoing_bytes_ > most_unsent_events) {
        close(); // it does not read
        return;
    }
    outgoing_.push_back(chunked_ ? fmt::format("{:x}\r\n{}\r\n", text.size(), text) : text);
    outgoing_bytes_ += outgoing_.back().size();
    write_events();
}

void connection::end_events() {
    current_ = nullptr;
    current_session_ = nullptr;
    ending_ = true;
    if (chunked_) {
        outgoing_.emplace_back("0\r\n\r\n");
        outgoing_bytes_ += outgoing_.back().size();
    }
    write_events();
}

void connection::write_events() {
    if (writing_) {
        return;
    }
    if (outgoing_.empty()) {
        if (!std::exchange(ending_, false)) {
            stream_.expires_never();
        } else if (chunked_) {
            wait_for_request();
        } else {
            close();
        }
        return;
    }
    writing_ = true;
    stream_.expires_after(write_deadline);
    asio::async_write(stream_, asio::buffer(outgoing_.front()),
                      [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                          self->writing_ = false;
                          if (failed) {
                              self->close();
                              return;
                          }
                          self->outgoing_bytes_ -= self->outgoing_.front().size();
                          self->outgoing_.pop_front();
                          self->write_events();
                      });
}

void connection::open_session_stream(const std::shared_ptr<session>& of) {
    streamed_ = of;
    of->stream = [weak = weak_from_this()](const json& message) {
        if (const auto self = weak.lock()) {
            self->send_event(fmt::format("event: message\ndata: {}\n\n", dump_json(message)));
        }
    };
    of->end_stream = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->close();
        }
    };
    begin_event_stream(of->id);
    end_stream_with_client();
}

/// Whatever the client sends now, or its end, ends the stream. Readable without either it may be too, by mistake.
void connection::end_stream_with_client() {
    stream_.socket().async_wait(
        asio::ip::tcp::socket::wait_read, [self = shared_from_this()](const boost::system::error_code& failed) {
            char byte = 0;
            const auto n = ::recv(self->stream_.socket().native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
            if (!failed && n < 0 && (errno == EAGAIN || errno == EINTR)) {
                self->end_stream_with_client();
            } else {
                self->close();
            }
        });
}

void connection::respond(http::status status, std::string body, const std::string& session_id, bool last) {
    const auto& request = parser_->get();
    auto response = std::make_shared<http::response<http::string_body>>(status, 11);
    response->set(http::field::server, "chalk");
    if (!body.empty()) {
        response->set(http::field::content_type, "application/json");
    }
    if (!session_id.empty()) {
        response->set("Mcp-Session-Id", session_id);
    }
    if (status == http::status::method_not_allowed) {
        response->set(http::field::allow, "GET, POST, DELETE");
    } else if (status == http::status::unauthorized) {
        response->set(http::field::www_authenticate, "Bearer");
    }
    const bool go_on = !last && request.keep_alive();
    response->keep_alive(go_on);
    response->body() = std::move(body);
    response->prepare_payload();
    if (request.method() == http::verb::head) {
        response->body().clear(); // the length stays
    }
    stream_.expires_after(write_deadline);
    auto& ref = *response;
    http::async_write(
        stream_, ref,
        [self = shared_from_this(), response, go_on](const boost::system::error_code& failed, std::size_t) {
            if (failed || !go_on) {
                self->close();
            } else {
                self->wait_for_request();
            }
        });
}

void connection::reject(const rejection& why, bool last) {
    // The form that MCP clients show to their users.
    respond(why.status,
            dump_json({{"jsonrpc", "2.0"}, {"id", nullptr}, {"error", {{"code", -32000}, {"message", why.message}}}}),
            {}, last);
}

void connection::reject_rpc(const json& id, const rpc_failure& why) {
    respond(http::status::bad_request, dump_json(make_error(id, why)));
}

} // namespace chalk::mcp
