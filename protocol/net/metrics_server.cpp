#include "protocol/net/metrics_server.hpp"

#include "protocol/net/proxy.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <utility>

namespace chalk {

namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using asio::ip::tcp;

constexpr std::chrono::seconds metrics_deadline{10};
constexpr std::size_t most_request = 8 * 1024;
constexpr int most_readers = 16;

struct reader_count {
    std::atomic<int> now = 0;
    std::atomic<bool> closed = false;
};

/// One request and its answer; holds itself until then.
class metrics_reader : public std::enable_shared_from_this<metrics_reader> {
  public:
    metrics_reader(tcp::socket socket, metrics_server::renderer render, std::shared_ptr<reader_count> count)
        : stream_(std::move(socket)), render_(std::move(render)), count_(std::move(count)) {
        ++count_->now;
        parser_.header_limit(most_request);
        parser_.body_limit(most_request);
    }
    metrics_reader(const metrics_reader&) = delete;
    metrics_reader& operator=(const metrics_reader&) = delete;
    ~metrics_reader() { --count_->now; }

    void read() {
        stream_.expires_after(metrics_deadline);
        http::async_read(stream_, buffer_, parser_,
                         [self = shared_from_this()](const beast::error_code& trouble, std::size_t) {
                             if (!trouble) {
                                 self->answer();
                             }
                         });
    }

  private:
    void answer() {
        const auto& asked = parser_.get();
        if (asked.target() != "/metrics") {
            return write(http::status::not_found, "text/plain", "there is /metrics, and nothing else\n");
        }
        if (asked.method() != http::verb::get) {
            return write(http::status::method_not_allowed, "text/plain", "GET alone\n");
        }
        stream_.expires_after(metrics_deadline);
        render_([keep = shared_from_this()](std::string page) mutable {
            const auto executor = keep->stream_.get_executor();
            asio::post(executor, [self = std::move(keep), page = std::move(page)]() mutable {
                if (!self->count_->closed) {
                    self->write(http::status::ok, openmetrics_type, std::move(page));
                }
            });
        });
    }

    void write(http::status status, std::string_view type, std::string text) {
        response_.result(status);
        response_.set(http::field::content_type, beast::string_view(type.data(), type.size()));
        response_.keep_alive(false);
        response_.body() = std::move(text);
        response_.prepare_payload();
        http::async_write(stream_, response_, [self = shared_from_this()](const beast::error_code&, std::size_t) {
            beast::error_code ignored; // the peer has what it gets
            self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
        });
    }

    beast::tcp_stream stream_;
    beast::flat_buffer buffer_{most_request};
    http::request_parser<http::string_body> parser_;
    http::response<http::string_body> response_;
    metrics_server::renderer render_;
    std::shared_ptr<reader_count> count_;
};

/// Shared with the accept under way.
struct metrics_door : std::enable_shared_from_this<metrics_door> {
    metrics_door(asio::io_context& io, metrics_server::renderer how) : acceptor(io), render(std::move(how)) {}

    void accept() {
        acceptor.async_accept([self = shared_from_this()](const boost::system::error_code& trouble, tcp::socket peer) {
            if (self->count->closed || !self->acceptor.is_open()) {
                return;
            }
            if (!trouble && self->count->now < most_readers) {
                std::make_shared<metrics_reader>(std::move(peer), self->render, self->count)->read();
            }
            self->accept();
        });
    }

    tcp::acceptor acceptor;
    metrics_server::renderer render;
    std::shared_ptr<reader_count> count = std::make_shared<reader_count>();
};

class metrics_server_impl final : public metrics_server {
  public:
    metrics_server_impl(asio::io_context& io, std::shared_ptr<metrics_door> door, std::uint16_t port)
        : io_(io), door_(std::move(door)), port_(port) {
        asio::post(io_, [door = door_] { door->accept(); });
    }
    ~metrics_server_impl() override {
        door_->count->closed = true;
        asio::post(io_, [door = door_] {
            boost::system::error_code ignored;
            door->acceptor.close(ignored);
        });
    }
    std::uint16_t port() const noexcept override { return port_; }

  private:
    asio::io_context& io_;
    std::shared_ptr<metrics_door> door_;
    std::uint16_t port_;
};

} // namespace

result<std::unique_ptr<metrics_server>> metrics_server::listen(asio::io_context& io, const host_port& where,
                                                               renderer render) {
    const auto refuse = [&](const boost::system::error_code& why) {
        return config_failure(
            fmt::format("metrics at {}: {}", net::host_and_port(where.host, where.port), why.message()));
    };
    boost::system::error_code trouble;
    const auto address = asio::ip::make_address(where.host == "localhost" ? "127.0.0.1" : where.host, trouble);
    if (trouble) {
        return refuse(trouble);
    }
    const tcp::endpoint at(address, where.port);
    auto door = std::make_shared<metrics_door>(io, std::move(render));
    door->acceptor.open(at.protocol(), trouble);
    if (!trouble) {
        door->acceptor.set_option(tcp::acceptor::reuse_address(true), trouble);
        door->acceptor.bind(at, trouble);
    }
    if (!trouble) {
        door->acceptor.listen(asio::socket_base::max_listen_connections, trouble);
    }
    if (trouble) {
        return refuse(trouble);
    }
    const auto port = door->acceptor.local_endpoint().port();
    return std::unique_ptr<metrics_server>(std::make_unique<metrics_server_impl>(io, std::move(door), port));
}

} // namespace chalk
