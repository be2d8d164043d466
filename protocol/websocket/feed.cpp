#include "protocol/websocket/feed.hpp"

#include "protocol/websocket/request.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/websocket.hpp>
#include <fmt/format.h>
#include <openssl/rand.h>

#include <array>
#include <deque>
#include <mutex>
#include <set>
#include <utility>

namespace chalk::websocket {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

class feed_impl;

/// One client. Lives in its own handlers; the feed keeps a weak list to wake and to count them.
class session : public std::enable_shared_from_this<session> {
  public:
    session(tcp::socket socket, std::shared_ptr<feed_impl> owner)
        : stream_(beast::tcp_stream(std::move(socket))), owner_(std::move(owner)) {}

    void run();
    /// New events, or the feed closes. On the io thread, as everything here.
    void wake();

  private:
    void answer();
    void refuse(const refusal& why);
    void accepted();
    void read_on();
    void write_next();
    void end(beast::websocket::close_code code);
    void gone();

    beast::websocket::stream<beast::tcp_stream> stream_;
    std::shared_ptr<feed_impl> owner_;
    beast::flat_buffer buffer_;
    std::optional<http::request_parser<http::empty_body>> parser_;
    http::response<http::string_body> response_;
    std::size_t next_ = 0; ///< index of the next event
    std::string line_;
    bool open_ = false;
    bool writing_ = false;
    bool closing_ = false;
};

class feed_impl final : public feed, public std::enable_shared_from_this<feed_impl> {
  public:
    feed_impl(asio::io_context& io, feed_options options) : io_(io), options_(std::move(options)), acceptor_(io) {}

    result<void> open() {
        boost::system::error_code ec;
        const auto address = asio::ip::make_address(options_.host, ec);
        const tcp::endpoint endpoint(address, options_.port);
        if (!ec) {
            acceptor_.open(endpoint.protocol(), ec);
        }
        if (!ec) {
            acceptor_.set_option(asio::socket_base::reuse_address(true), ec);
        }
        if (!ec) {
            acceptor_.bind(endpoint, ec);
        }
        if (!ec) {
            acceptor_.listen(16, ec);
        }
        if (ec) {
            return config_failure(
                fmt::format("cannot listen on {}:{}: {}", options_.host, options_.port, ec.message()));
        }
        port_ = acceptor_.local_endpoint(ec).port();
        return {};
    }

    void accept() {
        acceptor_.async_accept([self = shared_from_this()](boost::system::error_code ec, tcp::socket socket) {
            if (ec || self->closed_) {
                return;
            }
            if (self->sessions_.size() < most_clients) {
                const auto client = std::make_shared<session>(std::move(socket), self);
                self->sessions_.insert(client);
                client->run();
            }
            self->accept();
        });
    }

    std::uint16_t port() const noexcept override { return port_; }

    void publish(const event_ptr& e) override {
        {
            const std::lock_guard lock(mutex_);
            events_.push_back(e);
            if (std::exchange(wake_posted_, true)) {
                return;
            }
        }
        asio::post(io_, [self = shared_from_this()] { self->wake_all(); });
    }

    void close() override {
        asio::post(io_, [self = shared_from_this()] {
            boost::system::error_code ignored; // closing a listener that is closed already
            self->acceptor_.close(ignored);
            self->closed_ = true;
            self->wake_all();
        });
    }

    [[nodiscard]] event_ptr event_at(std::size_t index) {
        const std::lock_guard lock(mutex_);
        return index < events_.size() ? events_[index] : nullptr;
    }
    [[nodiscard]] bool closed() const noexcept { return closed_; }
    [[nodiscard]] const std::string& token() const noexcept { return options_.token; }
    void forget(const std::shared_ptr<session>& client) { sessions_.erase(client); }

  private:
    void wake_all() {
        {
            const std::lock_guard lock(mutex_);
            wake_posted_ = false;
        }
        const auto all = sessions_; // a session that ends takes itself out
        for (const auto& one : all) {
            if (const auto client = one.lock()) {
                client->wake();
            }
        }
    }

    asio::io_context& io_;
    feed_options options_;
    tcp::acceptor acceptor_;
    std::uint16_t port_ = 0;
    bool closed_ = false; ///< io thread
    /// Weak: sessions hold the feed, and would otherwise outlive an io context that stops under them. io thread.
    std::set<std::weak_ptr<session>, std::owner_less<>> sessions_;
    std::mutex mutex_;
    std::deque<event_ptr> events_; ///< guarded by mutex_
    bool wake_posted_ = false;     ///< guarded by mutex_
};

void session::run() {
    parser_.emplace();
    parser_->header_limit(8192);
    beast::get_lowest_layer(stream_).expires_after(handshake_deadline);
    http::async_read_header(stream_.next_layer(), buffer_, *parser_,
                            [self = shared_from_this()](beast::error_code ec, std::size_t) {
                                if (ec) {
                                    self->gone();
                                } else {
                                    self->answer();
                                }
                            });
}

void session::answer() {
    const auto& request = parser_->get();
    const auto text = [](beast::string_view s) { return std::string_view(s.data(), s.size()); };
    const auto verdict =
        check_request(text(request.target()), text(request[http::field::authorization]), owner_->token());
    if (const auto* why = std::get_if<refusal>(&verdict)) {
        refuse(*why);
        return;
    }
    if (!beast::websocket::is_upgrade(request)) {
        refuse({426, "this is a websocket (RFC 6455)"});
        return;
    }
    next_ = static_cast<std::size_t>(std::get<subscription>(verdict).from - 1);
    // From here on the websocket stream keeps its own deadlines.
    beast::get_lowest_layer(stream_).expires_never();
    stream_.set_option(
        beast::websocket::stream_base::timeout{handshake_deadline, beast::websocket::stream_base::none(), false});
    stream_.read_message_max(4096);
    stream_.async_accept(request, [self = shared_from_this()](beast::error_code ec) {
        if (ec) {
            self->gone();
        } else {
            self->accepted();
        }
    });
}

void session::refuse(const refusal& why) {
    response_.result(why.status);
    response_.version(11);
    response_.set(http::field::content_type, "text/plain; charset=utf-8");
    response_.keep_alive(false);
    response_.body() = why.message + "\n";
    response_.prepare_payload();
    http::async_write(stream_.next_layer(), response_, [self = shared_from_this()](beast::error_code, std::size_t) {
        beast::error_code ignored; // the client may be gone already
        beast::get_lowest_layer(self->stream_).socket().shutdown(tcp::socket::shutdown_both, ignored);
        self->gone();
    });
}

void session::accepted() {
    open_ = true;
    parser_.reset();
    buffer_.clear();
    read_on();
    wake();
}

/// Clients have nothing to say; reading answers pings and notices the close.
void session::read_on() {
    stream_.async_read(buffer_, [self = shared_from_this()](beast::error_code ec, std::size_t) {
        if (ec) {
            self->gone();
            return;
        }
        self->buffer_.clear();
        self->read_on();
    });
}

void session::wake() {
    if (open_ && !writing_ && !closing_) {
        write_next();
    }
}

void session::write_next() {
    const event_ptr e = owner_->event_at(next_);
    if (!e) {
        if (owner_->closed()) {
            end(beast::websocket::close_code::normal);
        }
        return;
    }
    ++next_;
    line_ = to_line(*e);
    writing_ = true;
    beast::get_lowest_layer(stream_).expires_after(write_deadline);
    stream_.text(true);
    stream_.async_write(asio::buffer(line_),
                        [self = shared_from_this(), last = is_final(e->body)](beast::error_code ec, std::size_t) {
                            self->writing_ = false;
                            if (ec) {
                                self->gone(); // too slow, or gone: either way it is not waited for
                                return;
                            }
                            beast::get_lowest_layer(self->stream_).expires_never();
                            if (last) {
                                self->end(beast::websocket::close_code::normal);
                            } else {
                                self->wake();
                            }
                        });
}

void session::end(beast::websocket::close_code code) {
    if (std::exchange(closing_, true)) {
        return;
    }
    beast::get_lowest_layer(stream_).expires_after(handshake_deadline);
    stream_.async_close(code, [self = shared_from_this()](beast::error_code) { self->gone(); });
}

void session::gone() {
    open_ = false;
    beast::get_lowest_layer(stream_).close();
    owner_->forget(shared_from_this());
}

} // namespace

result<std::shared_ptr<feed>> feed::listen(boost::asio::io_context& io, feed_options options) {
    if (options.token.empty()) {
        return harness_failure("a websocket feed needs a token");
    }
    auto made = std::make_shared<feed_impl>(io, std::move(options));
    if (auto opened = made->open(); !opened) {
        return opened.error();
    }
    // The acceptor is touched on the io thread only from here on.
    asio::post(io, [made] { made->accept(); });
    return std::shared_ptr<feed>(made);
}

result<std::string> make_token() {
    std::array<unsigned char, 32> random{};
    if (RAND_bytes(random.data(), static_cast<int>(random.size())) != 1) {
        return harness_failure("the system gave no random bytes for a websocket token");
    }
    std::string text;
    for (const unsigned char byte : random) {
        text += fmt::format("{:02x}", byte);
    }
    return text;
}

} // namespace chalk::websocket
