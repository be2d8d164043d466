#include "protocol/net/port_forwarder.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <array>
#include <list>

namespace chalk {

namespace asio = boost::asio;
using asio::ip::tcp;
using unix_stream = asio::local::stream_protocol;
using boost::system::error_code;

namespace {

constexpr std::size_t most_connections = 64;
/// After a failed accept, which out of descriptors would fail again at once.
constexpr std::chrono::milliseconds accept_pause{100};

/// Both directions of one connection; ends when both have.
class relay : public std::enable_shared_from_this<relay> {
  public:
    relay(tcp::socket near, unix_stream::socket far) : near_(std::move(near)), far_(std::move(far)) {}

    void start() {
        pass(near_, far_, there_);
        pass(far_, near_, back_);
    }
    void close() {
        error_code ignored; // of a connection that ends either way
        near_.close(ignored);
        far_.close(ignored);
    }

  private:
    using chunk = std::array<char, 16 * 1024>;

    template<class From, class To>
    void pass(From& from, To& to, chunk& buffer) {
        from.async_read_some(asio::buffer(buffer), [self = shared_from_this(), &from, &to,
                                                    &buffer](const error_code& failed, std::size_t size) {
            error_code ignored;
            if (failed == asio::error::eof) {
                to.shutdown(To::shutdown_send, ignored);
                return;
            }
            if (failed) {
                self->close();
                return;
            }
            asio::async_write(to, asio::buffer(buffer, size),
                              [self, &from, &to, &buffer](const error_code& broken, std::size_t) {
                                  if (broken) {
                                      self->close();
                                  } else {
                                      self->pass(from, to, buffer);
                                  }
                              });
        });
    }

    tcp::socket near_;
    unix_stream::socket far_;
    chunk there_{};
    chunk back_{};
};

/// Everything but the constructor runs on the io thread.
class listener : public std::enable_shared_from_this<listener> {
  public:
    listener(asio::io_context& io, std::string socket)
        : io_(io), acceptor_(io), pause_(io), target_(std::move(socket)) {}

    error_code open() {
        error_code failed;
        const tcp::endpoint where(asio::ip::address_v4::loopback(), 0);
        for (const auto& step : {std::function<void()>([&] { acceptor_.open(where.protocol(), failed); }),
                                 std::function<void()>([&] { acceptor_.bind(where, failed); }),
                                 std::function<void()>([&] { acceptor_.listen(64, failed); })}) {
            step();
            if (failed) {
                return failed;
            }
        }
        port_ = acceptor_.local_endpoint(failed).port();
        return failed;
    }

    void accept() {
        acceptor_.async_accept([self = shared_from_this()](const error_code& failed, tcp::socket near) {
            if (failed == asio::error::operation_aborted || !self->acceptor_.is_open()) {
                return;
            }
            if (failed) {
                self->pause_.expires_after(accept_pause);
                self->pause_.async_wait([self](const error_code& stopped) {
                    if (!stopped) {
                        self->accept();
                    }
                });
                return;
            }
            self->connect(std::move(near));
            self->accept();
        });
    }

    void close() {
        error_code ignored; // nothing is left to tell it to
        acceptor_.close(ignored);
        pause_.cancel();
        for (const auto& one : relays_) {
            if (const auto open = one.lock()) {
                open->close();
            }
        }
    }

    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] asio::io_context& io() const noexcept { return io_; }

  private:
    void connect(tcp::socket near) {
        relays_.remove_if([](const std::weak_ptr<relay>& one) { return one.expired(); });
        if (relays_.size() >= most_connections) {
            return; // it closes: the program on the other side asks for too much
        }
        const auto far = std::make_shared<unix_stream::socket>(io_);
        const auto client = std::make_shared<tcp::socket>(std::move(near));
        far->async_connect(unix_stream::endpoint(target_),
                           [self = shared_from_this(), far, client](const error_code& failed) {
                               if (failed || !self->acceptor_.is_open()) {
                                   return; // the client sees its connection end, and asks again
                               }
                               const auto both = std::make_shared<relay>(std::move(*client), std::move(*far));
                               self->relays_.push_back(both);
                               both->start();
                           });
    }

    asio::io_context& io_;
    tcp::acceptor acceptor_;
    asio::steady_timer pause_;
    std::string target_;
    std::list<std::weak_ptr<relay>> relays_;
    std::uint16_t port_ = 0;
};

class forwarder final : public port_forwarder {
  public:
    explicit forwarder(std::shared_ptr<listener> listening) : listening_(std::move(listening)) {}
    ~forwarder() override {
        asio::post(listening_->io(), [last = listening_] { last->close(); });
    }
    [[nodiscard]] std::uint16_t port() const noexcept override { return listening_->port(); }

  private:
    std::shared_ptr<listener> listening_;
};

} // namespace

result<std::shared_ptr<port_forwarder>> port_forwarder::listen(asio::io_context& io, std::string socket) {
    if (socket.empty() || socket.size() >= sizeof(sockaddr_un::sun_path)) {
        return harness_failure(socket.empty() ? std::string("this run has no gateway to reach models by")
                                              : fmt::format("the gateway's socket {} has too long a path", socket));
    }
    auto listening = std::make_shared<listener>(io, std::move(socket));
    if (const auto failed = listening->open()) {
        return harness_failure(fmt::format("cannot listen on loopback: {}", failed.message()));
    }
    listening->accept();
    return std::make_shared<forwarder>(std::move(listening));
}

} // namespace chalk
