#include "protocol/mcp/server.hpp"

#include "protocol/mcp/connection.hpp"
#include "protocol/mcp/tool_host.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::mcp {
namespace asio = boost::asio;
using asio::ip::tcp;
namespace {

constexpr std::size_t most_connections = 256;
/// After accept failed (no descriptors are left, as a rule), until the next try.
constexpr milliseconds accept_pause{100};

/// Everything but the handle that the owner holds; lives on the io thread.
class listener : public std::enable_shared_from_this<listener> {
  public:
    listener(asio::io_context& io, tcp::acceptor acceptor, const server_options& options, server_handlers handlers)
        : io_(io), acceptor_(std::move(acceptor)), pause_(io),
          rules_(std::make_shared<access_rules>(access_rules{options.host, options.bearer_token})),
          host_(std::make_shared<tool_host>(io, std::move(handlers))) {}

    [[nodiscard]] tool_host& host() noexcept { return *host_; }

    void accept() {
        acceptor_.async_accept(
            [self = shared_from_this()](const boost::system::error_code& failed, tcp::socket socket) {
                if (failed == asio::error::operation_aborted || !self->acceptor_.is_open()) {
                    return;
                }
                if (failed) {
                    self->pause_.expires_after(accept_pause);
                    self->pause_.async_wait([self](const boost::system::error_code& stopped) {
                        if (!stopped) {
                            self->accept();
                        }
                    });
                    return;
                }
                self->take(std::move(socket));
                self->accept();
            });
    }

    void close() {
        boost::system::error_code ignored; // it may be closed already
        acceptor_.close(ignored);
        pause_.cancel();
        const auto all = connections_; // each takes itself out of the list
        for (const auto& open : all) {
            open->close();
        }
        host_->end_all();
    }

  private:
    void take(tcp::socket socket) {
        if (connections_.size() >= most_connections) {
            const auto idle =
                std::find_if(connections_.begin(), connections_.end(), [](const auto& c) { return c->idle(); });
            if (idle == connections_.end()) {
                return; // closes the new one: every other has a request under way
            }
            const auto oldest = *idle;
            oldest->close();
        }
        auto made = std::make_shared<connection>(io_, std::move(socket), host_, rules_,
                                                 [weak = weak_from_this()](const connection* ended) {
                                                     if (const auto self = weak.lock()) {
                                                         self->forget(ended);
                                                     }
                                                 });
        connections_.push_back(made);
        made->start();
    }

    void forget(const connection* ended) {
        const auto found =
            std::find_if(connections_.begin(), connections_.end(), [ended](const auto& c) { return c.get() == ended; });
        if (found != connections_.end()) {
            connections_.erase(found);
        }
    }

    asio::io_context& io_;
    tcp::acceptor acceptor_;
    asio::steady_timer pause_;
    std::shared_ptr<const access_rules> rules_;
    std::shared_ptr<tool_host> host_;
    std::vector<std::shared_ptr<connection>> connections_; ///< oldest first
};

class http_server final : public server {
  public:
    http_server(asio::io_context& io, std::shared_ptr<listener> listening, std::uint16_t port)
        : io_(io), listener_(std::move(listening)), port_(port) {}
    ~http_server() override { close(); }

    [[nodiscard]] std::uint16_t port() const noexcept override { return port_; }
    void set_tools(std::vector<tool_spec> tools) override { listener_->host().set_tools(std::move(tools)); }
    void close() override {
        asio::post(io_, [listening = listener_] { listening->close(); });
    }

  private:
    asio::io_context& io_;
    std::shared_ptr<listener> listener_;
    std::uint16_t port_;
};

} // namespace

result<std::shared_ptr<server>> server::listen(asio::io_context& io, server_options options, server_handlers handlers) {
    boost::system::error_code failed;
    const auto address = asio::ip::make_address(options.host, failed);
    if (failed) {
        return config_failure(fmt::format("the tool server's host '{}' is not an IP address", options.host));
    }
    const tcp::endpoint endpoint(address, options.port);
    tcp::acceptor acceptor(io);
    acceptor.open(endpoint.protocol(), failed);
    if (!failed) {
        acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
    }
    if (!failed) {
        acceptor.bind(endpoint, failed);
    }
    if (!failed) {
        acceptor.listen(tcp::acceptor::max_listen_connections, failed);
    }
    const auto bound = failed ? tcp::endpoint() : acceptor.local_endpoint(failed);
    if (failed) {
        return config_failure(fmt::format("the tool server cannot listen on {} port {}: {}", options.host, options.port,
                                          failed.message()));
    }
    auto listening = std::make_shared<listener>(io, std::move(acceptor), options, std::move(handlers));
    asio::post(io, [listening] { listening->accept(); });
    return std::shared_ptr<server>(std::make_shared<http_server>(io, std::move(listening), bound.port()));
}

} // namespace chalk::mcp
