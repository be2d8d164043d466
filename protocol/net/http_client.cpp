#include "protocol/net/http_client.hpp"

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/buffer_body.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <sys/socket.h>

namespace chalk::net {
namespace asio = boost::asio;
namespace http = boost::beast::http;

namespace {

constexpr std::uint32_t most_header = 64U << 10U;
constexpr std::size_t read_size = 16U << 10U;

/// A connection and all that an operation on it refers to. An operation that was cancelled may still have a result on
/// its way, so it holds its connection, and the next request gets another.
struct connection {
    explicit connection(asio::io_context& io) : socket(io) {}

    asio::generic::stream_protocol::socket socket;
    boost::beast::flat_buffer buffer;
    std::optional<http::response_parser<http::buffer_body>> parser;
    std::array<char, read_size> in; ///< not filled with zeros, for pages that nothing is read into
    std::string out;
    bool sent = false; ///< all of `out`
};

class client final : public http_client, public std::enable_shared_from_this<client> {
  public:
    client(asio::io_context& io, http_address where, http_client_options options)
        : io_(io), where_(std::move(where)), options_(options), deadline_(io), pause_(io), resolver_(io) {}

    void post(http_request what, milliseconds deadline, http_handlers handlers) override {
        handlers_ = std::make_shared<http_handlers>(std::move(handlers));
        ++exchange_;
        expires_ = asio::steady_timer::clock_type::now() + deadline;
        connect_until_ = std::min(expires_, asio::steady_timer::clock_type::now() + options_.connect);
        arm();
        out_ = written_out(what);
        if (still_good()) {
            send();
        } else {
            disconnect();
            find();
        }
    }

    void shorten(milliseconds deadline) override {
        if (handlers_) {
            expires_ = std::min(expires_, asio::steady_timer::clock_type::now() + deadline);
            arm();
        }
    }

    void cancel() override {
        handlers_.reset();
        ++exchange_;
        stop_waiting();
        disconnect();
    }

  private:
    using time_point = asio::steady_timer::time_point;

    /// A handler of this exchange alone: what a cancelled one still had under way must not touch the next.
    template<class F>
    auto mine(F then) {
        return [self = shared_from_this(), used = connection_, exchange = exchange_,
                then = std::move(then)](auto&&... args) {
            if (self->exchange_ == exchange) {
                then(*self, std::forward<decltype(args)>(args)...);
            }
        };
    }

    void arm() {
        deadline_.expires_at(expires_);
        deadline_.async_wait(mine([](client& self, const boost::system::error_code& stopped) {
            if (!stopped) {
                self.end(http_problem{http_problem::what::deadline, "time is up"});
            }
        }));
    }

    /// Bytes by hand: the head is short, and the body is sent as it is.
    [[nodiscard]] std::string written_out(const http_request& what) const {
        const bool local = !where_.path.empty();
        auto out = fmt::format("POST {} HTTP/1.1\r\nHost: {}\r\nContent-Length: {}\r\n", what.target,
                               local ? "localhost" : where_.text(), what.body.size());
        for (const auto& [name, value] : what.headers) {
            out += fmt::format("{}: {}\r\n", name, value);
        }
        out += "\r\n";
        return out += what.body;
    }

    /// A connection that was kept may have been closed by now. It is looked at before anything is sent, since a request
    /// that was sent is never sent again.
    [[nodiscard]] bool still_good() {
        if (!connection_) {
            return false;
        }
        char byte = 0;
        const auto got = ::recv(connection_->socket.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
        return got < 0 && errno == EAGAIN && connection_->buffer.size() == 0;
    }

    void find() {
        if (!where_.path.empty()) {
            connect({asio::local::stream_protocol::endpoint(where_.path)});
            return;
        }
        boost::system::error_code is_name;
        const auto address = asio::ip::make_address(where_.host, is_name);
        if (!is_name) {
            connect({asio::ip::tcp::endpoint(address, where_.port)});
            return;
        }
        resolver_.async_resolve(where_.host, std::to_string(where_.port),
                                mine([](client& self, const boost::system::error_code& failed,
                                        const asio::ip::tcp::resolver::results_type& found) {
                                    if (failed) {
                                        self.not_connected(failed);
                                        return;
                                    }
                                    std::vector<asio::generic::stream_protocol::endpoint> all;
                                    for (const auto& one : found) {
                                        all.emplace_back(one.endpoint());
                                    }
                                    self.connect(std::move(all));
                                }));
    }

    /// Tries the endpoints in their order.
    void connect(std::vector<asio::generic::stream_protocol::endpoint> to) {
        disconnect();
        connection_ = std::make_shared<connection>(io_);
        boost::system::error_code ignored; // what is wrong, connecting says too
        connection_->socket.open(to.front().protocol(), ignored);
        const auto first = to.front();
        connection_->socket.async_connect(first, mine([to](client& self, const boost::system::error_code& failed) {
                                              if (!failed) {
                                                  self.send();
                                              } else if (to.size() > 1) {
                                                  self.connect(std::vector(to.begin() + 1, to.end()));
                                              } else {
                                                  self.not_connected(failed);
                                              }
                                          }));
    }

    void not_connected(const boost::system::error_code& why) {
        disconnect();
        const auto again = asio::steady_timer::clock_type::now() + options_.retry_connect;
        if (again > connect_until_) {
            end(http_problem{http_problem::what::connect, fmt::format("{}: {}", where_.text(), why.message())});
            return;
        }
        pause_.expires_at(again);
        pause_.async_wait(mine([](client& self, const boost::system::error_code& stopped) {
            if (!stopped) {
                self.find();
            }
        }));
    }

    /// Reading begins at once: a server that refuses a request may answer before it has read it all.
    void send() {
        auto& c = *connection_;
        if (where_.path.empty()) {
            boost::system::error_code ignored; // slower without it, not wrong
            c.socket.set_option(asio::ip::tcp::no_delay(true), ignored);
        }
        c.out = std::move(out_);
        c.sent = false;
        // A failure to write shows in reading too, which may still find an answer.
        asio::async_write(c.socket, asio::buffer(c.out),
                          [used = connection_](const auto& failed, std::size_t) { used->sent = !failed; });
        c.parser.emplace();
        c.parser->body_limit(boost::none);
        c.parser->header_limit(most_header);
        http::async_read_header(c.socket, c.buffer, *c.parser,
                                mine([](client& self, const boost::system::error_code& failed, std::size_t) {
                                    if (failed) {
                                        self.broken(failed, "no response came");
                                    } else {
                                        self.on_head();
                                    }
                                }));
    }

    void on_head() {
        const auto& message = connection_->parser->get();
        http_head head{message.result_int(), {}};
        for (const auto& field : message) {
            std::string name(field.name_string());
            std::transform(name.begin(), name.end(), name.begin(),
                           [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
            head.headers.emplace_back(std::move(name), std::string(field.value()));
        }
        const auto exchange = exchange_;
        const auto heard = handlers_; // it may cancel, which must not destroy what runs
        heard->on_head(head);
        if (exchange == exchange_) {
            read_body();
        }
    }

    void read_body() {
        auto& c = *connection_;
        if (c.parser->is_done()) {
            end(std::nullopt);
            return;
        }
        auto& body = c.parser->get().body();
        body.data = c.in.data();
        body.size = c.in.size();
        body.more = true;
        http::async_read_some(c.socket, c.buffer, *c.parser,
                              mine([](client& self, boost::system::error_code failed, std::size_t) {
                                  if (failed == http::error::need_buffer) {
                                      failed = {};
                                  }
                                  self.on_body(failed);
                              }));
    }

    void on_body(const boost::system::error_code& failed) {
        auto& c = *connection_;
        const auto size = c.in.size() - c.parser->get().body().size;
        if (size > 0) {
            const auto exchange = exchange_;
            const auto heard = handlers_;
            const bool enough = !heard->on_data({c.in.data(), size});
            if (exchange != exchange_) {
                return;
            }
            if (enough) {
                disconnect();
                end(std::nullopt);
                return;
            }
        }
        if (failed) {
            broken(failed, "the connection ended in the middle of the response");
        } else {
            read_body();
        }
    }

    void broken(const boost::system::error_code& why, std::string_view what) {
        const bool plain_end = why == http::error::end_of_stream || why == http::error::partial_message;
        end(http_problem{http_problem::what::broken,
                         plain_end ? std::string(what) : fmt::format("{}: {}", what, why.message())});
    }

    void end(std::optional<http_problem> problem) {
        const bool keep = !problem && connection_ && connection_->sent && connection_->parser->is_done() &&
                          connection_->parser->get().keep_alive() && !connection_->parser->need_eof();
        if (!keep) {
            disconnect();
        }
        const auto heard = std::move(handlers_);
        handlers_.reset();
        ++exchange_;
        stop_waiting();
        heard->on_end(std::move(problem));
    }

    void stop_waiting() {
        deadline_.cancel();
        pause_.cancel();
        resolver_.cancel();
    }

    void disconnect() {
        if (const auto old = std::exchange(connection_, nullptr)) {
            boost::system::error_code ignored; // it is given up either way
            old->socket.close(ignored);
        }
    }

    asio::io_context& io_;
    http_address where_;
    http_client_options options_;
    std::shared_ptr<connection> connection_; ///< null, or open; between requests a kept one
    asio::steady_timer deadline_;
    asio::steady_timer pause_;
    asio::ip::tcp::resolver resolver_;
    std::shared_ptr<const http_handlers> handlers_; ///< set while a request is open
    std::uint64_t exchange_ = 0;                    ///< goes up when a request begins and when it ends
    time_point expires_;
    time_point connect_until_;
    std::string out_; ///< the request, until there is a connection
};

} // namespace

std::shared_ptr<http_client> http_client::make(asio::io_context& io, http_address where, http_client_options options) {
    return std::make_shared<client>(io, std::move(where), options);
}

} // namespace chalk::net
