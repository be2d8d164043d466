#include "protocol/gateway/connection.hpp"

#include "protocol/gateway/spending_question.hpp"
#include "protocol/net/http_status.hpp"

#include <boost/asio/write.hpp>
#include <boost/beast/http/read.hpp>
#include <fmt/format.h>

#include <sys/socket.h>

namespace chalk::gateway {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

constexpr std::uint64_t most_body = 32U << 20U;
constexpr std::uint32_t most_header = 64U << 10U;
/// Of an answer that the client has not read: from the first on the provider is held back, to the second.
constexpr std::size_t hold_at = 256U << 10U;
constexpr std::size_t go_on_at = 64U << 10U;
constexpr seconds idle_deadline{600};
constexpr seconds request_deadline{60};
constexpr seconds write_deadline{600};

curl::http_headers headers_of(const http::request<http::string_body>& request) {
    curl::http_headers out;
    for (const auto& field : request) {
        std::string name(field.name_string());
        for (char& c : name) {
            c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
        }
        out.emplace_back(std::move(name), field.value());
    }
    return out;
}

} // namespace

connection::connection(socket from, std::shared_ptr<upstream> up, std::shared_ptr<account> payer,
                       std::shared_ptr<message_source> messages, std::function<void(const connection*)> ended)
    : stream_(std::move(from)), up_(std::move(up)), payer_(std::move(payer)), messages_(std::move(messages)),
      ended_(std::move(ended)) {}

void connection::close() {
    if (std::exchange(closed_, true)) {
        return;
    }
    stream_.close();
    if (const auto open = std::exchange(current_, nullptr)) {
        open->cancel();
    }
    if (const auto number = std::exchange(awaited_, std::nullopt)) {
        messages_->drop(*number);
    }
    if (const auto ended = std::exchange(ended_, nullptr)) {
        ended(this);
    }
}

void connection::wait_for_request() {
    idle_ = true;
    if (buffer_.size() > 0) {
        read_header();
        return;
    }
    stream_.expires_after(idle_deadline);
    constexpr std::size_t first_piece = 16U << 10U;
    stream_.async_read_some(buffer_.prepare(first_piece),
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
    which_ = api::chat_completions;
    parser_.emplace();
    parser_->body_limit(most_body);
    parser_->header_limit(most_header);
    stream_.expires_after(request_deadline);
    http::async_read_header(
        stream_, buffer_, *parser_, [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
            if (failed == http::error::body_limit) {
                self->refuse({413, "request_too_large", "a request has at most 32 MiB"}, true);
            } else if (failed == http::error::header_limit) {
                self->refuse({431, "headers_too_large", "the headers of a request have at most 64 KiB"}, true);
            } else if (failed.category() == http::make_error_code(http::error::bad_field).category() &&
                       failed != http::error::end_of_stream && failed != http::error::partial_message) {
                self->refuse({400, "not_http", "not HTTP: " + failed.message()}, true);
            } else if (failed) {
                self->close();
            } else {
                self->on_header();
            }
        });
}

void connection::on_header() {
    const auto& request = parser_->get();
    if (request.target() == spent_target && parser_->is_done()) {
        tell_spending();
        return;
    }
    wants_message_ =
        messages_ && request.method() == http::verb::post && std::string_view(request.target()) == next_message_path;
    if (!wants_message_) {
        const auto known = find_api(std::string_view(request.method_string()), std::string_view(request.target()));
        if (!known) {
            // A body that was not read would be taken for the next request.
            refuse(known.error(), !parser_->is_done());
            return;
        }
        which_ = *known;
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
                             self->refuse({413, "request_too_large", "a request has at most 32 MiB"}, true);
                         } else if (failed) {
                             self->close();
                         } else {
                             self->on_request();
                         }
                     });
}

void connection::on_request() {
    auto& request = parser_->get();
    keep_alive_ = request.keep_alive();
    chunked_ = request.version() >= 11;
    if (wants_message_) {
        ask_for_message(std::move(request.body()));
        return;
    }
    auto call = read_call(which_, std::string_view(request.target()), std::string_view(request["X-Chalk-Model"]),
                          std::move(request.body()));
    if (!call) {
        refuse(call.error());
        return;
    }
    const auto weak = weak_from_this();
    const auto with_self = [weak](auto&& then) {
        return [weak, then](auto&& value) {
            if (const auto self = weak.lock(); self && !self->closed_) {
                then(*self, value);
            }
        };
    };
    exchange_handlers on;
    on.on_head = with_self([](connection& self, const curl::http_head& head) { self.begin_answer(head); });
    on.on_data = with_self([](connection& self, std::string_view bytes) { self.add_data(bytes); });
    on.on_end = with_self([](connection& self, bool whole) { self.end_answer(whole); });
    on.on_refusal = with_self([](connection& self, const refusal& why) { self.refuse(why); });
    auto begun = exchange::begin(up_, payer_, std::move(*call), headers_of(request), std::move(on));
    if (!begun) {
        refuse(begun.error());
        return;
    }
    current_ = std::move(*begun);
    stream_.expires_never(); // a model may take its time; the client is watched instead
    watch_client();
}

/// The answer may take as long as a person does.
void connection::ask_for_message(std::string body) {
    awaited_ = messages_->ask(std::move(body), [weak = weak_from_this()](const answer<std::string>& message) {
        const auto self = weak.lock();
        if (!self || self->closed_) {
            return;
        }
        self->awaited_.reset();
        if (!message) {
            self->refuse(message.error());
            return;
        }
        self->begin_answer({http_ok, {{"content-type", "application/json"}}});
        self->add_data(*message);
        self->end_answer(true);
    });
    stream_.expires_never();
    watch_client();
}

/// While an answer is under way: has the client gone? Bytes of a next request end the watch.
void connection::watch_client() {
    stream_.socket().async_wait(socket::wait_read, [weak = weak_from_this()](const auto& failed) {
        const auto self = weak.lock();
        if (!self || failed || self->closed_ || (!self->current_ && !self->awaited_)) {
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

void connection::refuse(const refusal& why, bool last) {
    keep_alive_ = !last && parser_->is_header_done() && parser_->get().keep_alive();
    answer_whole(why.status, error_body(which_, why), "X-Should-Retry: false\r\n");
}

void connection::tell_spending() {
    keep_alive_ = parser_->get().keep_alive();
    answer_whole(static_cast<unsigned>(http::status::ok), to_wire(payer_->tell()).dump(), {});
}

void connection::answer_whole(unsigned status, const std::string& body, std::string_view more_headers) {
    queue(fmt::format("HTTP/1.1 {} {}\r\nServer: chalk\r\nContent-Type: application/json\r\nContent-Length: {}\r\n"
                      "{}Connection: {}\r\n\r\n",
                      status, std::string_view(http::obsolete_reason(static_cast<http::status>(status))), body.size(),
                      more_headers, keep_alive_ ? "keep-alive" : "close") +
          body);
    complete_ = true;
    write();
}

void connection::begin_answer(const curl::http_head& head) {
    keep_alive_ = keep_alive_ && chunked_;
    auto text = fmt::format("HTTP/1.1 {} {}\r\nServer: chalk\r\n", head.status,
                            std::string_view(http::obsolete_reason(static_cast<http::status>(head.status))));
    for (const auto& [name, value] : head.headers) {
        text += fmt::format("{}: {}\r\n", name, value);
    }
    text += chunked_ ? "Transfer-Encoding: chunked\r\n" : "";
    text += keep_alive_ ? "\r\n" : "Connection: close\r\n\r\n";
    queue(std::move(text));
    write();
}

void connection::add_data(std::string_view bytes) {
    if (bytes.empty()) {
        return;
    }
    queue(chunked_ ? fmt::format("{:x}\r\n{}\r\n", bytes.size(), bytes) : std::string(bytes));
    if (current_ && outgoing_bytes_ > hold_at && !std::exchange(paused_, true)) {
        current_->pause();
    }
    write();
}

void connection::end_answer(bool whole) {
    if (whole && chunked_) {
        queue("0\r\n\r\n");
    }
    complete_ = true;
    broken_ = !whole;
    write();
}

void connection::queue(std::string text) {
    outgoing_bytes_ += text.size();
    outgoing_.push_back(std::move(text));
}

void connection::write() {
    if (writing_ || closed_) {
        return;
    }
    if (outgoing_.empty()) {
        if (complete_) {
            answered();
        }
        return;
    }
    writing_ = true;
    stream_.expires_after(write_deadline);
    asio::async_write(stream_, asio::buffer(outgoing_.front()),
                      [self = shared_from_this()](const boost::system::error_code& failed, std::size_t) {
                          self->writing_ = false;
                          if (failed || self->closed_) {
                              self->close();
                              return;
                          }
                          self->stream_.expires_never();
                          self->outgoing_bytes_ -= self->outgoing_.front().size();
                          self->outgoing_.pop_front();
                          if (self->outgoing_bytes_ < go_on_at && std::exchange(self->paused_, false) &&
                              self->current_) {
                              self->current_->resume();
                          }
                          self->write();
                      });
}

void connection::answered() {
    current_.reset();
    complete_ = false;
    paused_ = false;
    if (broken_ || !keep_alive_) {
        close();
    } else {
        wait_for_request();
    }
}

} // namespace chalk::gateway
