#include "protocol/mcp/connection.hpp"

#include "protocol/core/json_text.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <fmt/format.h>

#include <algorithm>

#include <sys/socket.h>

namespace chalk::mcp {
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace {

constexpr std::uint64_t most_body = 16U << 20U;
constexpr std::uint32_t most_header = 32U << 10U;
constexpr std::size_t most_batch = 100;
constexpr std::size_t most_unsent_stream = 1U << 20U;
constexpr seconds idle_deadline{300};
constexpr seconds request_deadline{30};
constexpr seconds write_deadline{30};

bool is_id(const json& value) {
    return value.is_string() || value.is_number_integer();
}

/// Allowed in JSON-RPC 2.0 and MCP: a request, a notification or a response.
std::optional<std::string_view> defect(const json& message) {
    if (!message.is_object() || message.value("jsonrpc", json()) != "2.0") {
        return "a message is an object with \"jsonrpc\": \"2.0\"";
    }
    const auto method = message.find("method");
    if (method == message.end()) {
        const bool response = message.contains("id") && (message.contains("result") || message.contains("error"));
        return response ? std::nullopt : std::optional<std::string_view>("a message has a method or a result");
    }
    if (!method->is_string()) {
        return "a method is a text";
    }
    if (message.contains("id") && !is_id(message["id"])) {
        return "an id is a text or a whole number";
    }
    const auto params = message.find("params");
    if (params != message.end() && !params->is_object()) {
        return "params are an object";
    }
    return std::nullopt;
}

bool is_request(const json& message) {
    return message.contains("method") && message.contains("id");
}

} // namespace

/// Answers come in any order; the POST is answered when the last one is there.
struct connection::exchange {
    bool batch = false;
    std::size_t open = 0;
    json answers = json::array();
    std::vector<std::uint64_t> calls;
};

connection::connection(asio::ip::tcp::socket socket, std::shared_ptr<tool_host> host,
                       std::shared_ptr<const access_rules> rules, std::function<void(const connection*)> ended)
    : stream_(std::move(socket)), host_(std::move(host)), rules_(std::move(rules)), ended_(std::move(ended)) {
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
        for (const auto number : under_way->calls) {
            host_->abandon(number);
        }
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
    if (const auto refused = check_version(request)) {
        reject(*refused);
        return;
    }
    const auto id = std::string(request["Mcp-Session-Id"]);
    const auto of = host_->find_session(id);
    if (!of) {
        reject(id.empty() ? rejection{http::status::bad_request, "the Mcp-Session-Id header is missing"}
                          : rejection{http::status::not_found, "no such session"});
        return;
    }
    if (request.method() == http::verb::delete_) {
        host_->end_session(id);
        respond(http::status::ok, {});
    } else if (!accepts(request[http::field::accept], "text/event-stream")) {
        reject({http::status::not_acceptable, "a stream is text/event-stream"});
    } else if (of->stream) {
        reject({http::status::conflict, "this session has a stream already"});
    } else {
        open_stream(of);
    }
}

void connection::on_post() {
    const auto& request = parser_->get();
    auto parsed = parse_json(request.body());
    if (!parsed) {
        reject_rpc(http::status::bad_request, rpc_error::parse, "not JSON: " + parsed.error().message);
        return;
    }
    const bool batch = parsed->is_array();
    std::vector<json> messages;
    if (batch) {
        messages.assign(std::make_move_iterator(parsed->begin()), std::make_move_iterator(parsed->end()));
    } else {
        messages.push_back(std::move(*parsed));
    }
    if (messages.empty() || messages.size() > most_batch) {
        reject_rpc(http::status::bad_request, rpc_error::invalid_request, "a batch has 1 to 100 messages");
        return;
    }
    for (const auto& message : messages) {
        if (const auto wrong = defect(message)) {
            reject_rpc(http::status::bad_request, rpc_error::invalid_request, *wrong);
            return;
        }
    }
    const auto id = std::string(request["Mcp-Session-Id"]);
    if (!batch && id.empty() && is_request(messages.front()) && messages.front()["method"] == "initialize") {
        initialize(messages.front()["id"], messages.front().value("params", json::object()));
        return;
    }
    if (const auto refused = check_version(request)) {
        reject(*refused);
        return;
    }
    const auto from = host_->find_session(id);
    if (!from) {
        reject(id.empty() ? rejection{http::status::bad_request, "the Mcp-Session-Id header is missing"}
                          : rejection{http::status::not_found, "no such session"});
        return;
    }
    if (batch && !allows_batches(from->version)) {
        reject_rpc(http::status::bad_request, rpc_error::invalid_request, "this protocol version has no batches");
        return;
    }
    dispatch(from, std::move(messages), batch);
}

void connection::initialize(const json& id, const json& params) {
    const auto made = host_->open_session(params);
    if (!made) {
        reject({http::status::service_unavailable, "too many sessions are in use"});
        return;
    }
    respond(http::status::ok, dump_json(make_result(id, host_->initialize_result(*made))), made->id);
}

void connection::dispatch(const std::shared_ptr<session>& from, std::vector<json> messages, bool batch) {
    const auto work = std::make_shared<exchange>();
    work->batch = batch;
    work->open = 1; // this function itself, so that an early answer does not end the exchange
    current_ = work;
    for (auto& message : messages) {
        if (!message.contains("method")) {
            continue; // a response: nothing was asked
        }
        const auto& method = message["method"].get_ref<const std::string&>();
        const auto params = message.value("params", json::object());
        if (!message.contains("id")) {
            host_->notification(*from, method, params);
            continue;
        }
        ++work->open;
        const auto number = host_->request(*from, message["id"], method, params,
                                           [weak = weak_from_this(), work](std::optional<json> response) {
                                               if (const auto self = weak.lock()) {
                                                   self->answer(work, std::move(response));
                                               }
                                           });
        if (number != 0) {
            work->calls.push_back(number);
        }
    }
    const bool waiting = work->open > 1;
    answer(work, std::nullopt);
    if (waiting && current_ == work) {
        stream_.expires_never(); // a tool may take its time; the client is watched instead
        watch_client();
    }
}

void connection::answer(const std::shared_ptr<exchange>& of, std::optional<json> response) {
    if (response) {
        of->answers.push_back(std::move(*response));
    }
    if (--of->open > 0 || current_ != of) {
        return;
    }
    current_ = nullptr;
    if (of->answers.empty()) {
        respond(http::status::accepted, {}); // notifications and responses, or all was cancelled
    } else {
        respond(http::status::ok, dump_json(of->batch ? of->answers : of->answers.front()));
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

void connection::open_stream(const std::shared_ptr<session>& of) {
    streamed_ = of;
    of->stream = [weak = weak_from_this()](const json& message) {
        if (const auto self = weak.lock()) {
            auto event = fmt::format("event: message\ndata: {}\n\n", dump_json(message));
            self->outgoing_bytes_ += event.size();
            self->outgoing_.push_back(std::move(event));
            if (self->outgoing_bytes_ > most_unsent_stream) {
                self->close(); // it does not read
            } else {
                self->write_stream();
            }
        }
    };
    of->end_stream = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->close();
        }
    };
    outgoing_.push_back(
        "HTTP/1.1 200 OK\r\nServer: chalk\r\nContent-Type: text/event-stream\r\nCache-Control: no-cache\r\n"
        "Mcp-Session-Id: " +
        of->id + "\r\nConnection: close\r\n\r\n");
    outgoing_bytes_ = outgoing_.back().size();
    write_stream();
    // Whatever the client sends now, or its end, ends the stream.
    stream_.expires_never();
    stream_.socket().async_wait(asio::ip::tcp::socket::wait_read,
                                [self = shared_from_this()](const auto&) { self->close(); });
}

void connection::write_stream() {
    if (writing_ || outgoing_.empty()) {
        return;
    }
    writing_ = true;
    asio::async_write(stream_.socket(), asio::buffer(outgoing_.front()),
                      [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                          self->writing_ = false;
                          if (failed) {
                              self->close();
                              return;
                          }
                          self->outgoing_bytes_ -= self->outgoing_.front().size();
                          self->outgoing_.pop_front();
                          self->write_stream();
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

void connection::reject_rpc(http::status status, rpc_error code, std::string_view message) {
    respond(status, dump_json(make_error(nullptr, code, message)));
}

} // namespace chalk::mcp
