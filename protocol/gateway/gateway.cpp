#include "protocol/gateway/gateway.hpp"

#include "protocol/gateway/connection.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>

#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

namespace chalk::gateway {

namespace asio = boost::asio;
namespace fs = std::filesystem;
using local = asio::local::stream_protocol;

namespace {

/// Of one run: a builtin agent needs one, a CLI agent a few.
constexpr std::size_t most_connections = 16;
/// After accept failed (no descriptors are left, as a rule), until the next try.
constexpr milliseconds accept_pause{100};

/// One run's socket. Lives on the io thread.
class listener : public std::enable_shared_from_this<listener> {
  public:
    listener(asio::io_context& io, local::acceptor acceptor, std::shared_ptr<upstream> up,
             std::shared_ptr<account> payer, std::shared_ptr<message_source> messages)
        : acceptor_(std::move(acceptor)), pause_(io), up_(std::move(up)), payer_(std::move(payer)),
          messages_(std::move(messages)) {}

    void accept() {
        acceptor_.async_accept(
            [self = shared_from_this()](const boost::system::error_code& failed, local::socket socket) {
                if (failed == asio::error::operation_aborted || !self->acceptor_.is_open()) {
                    return;
                }
                if (failed) {
                    self->pause_.expires_after(accept_pause);
                    self->pause_.async_wait([self](const boost::system::error_code& stopped) {
                        if (!stopped && self->acceptor_.is_open()) {
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
    }

  private:
    void take(local::socket socket) {
        if (connections_.size() >= most_connections) {
            const auto idle =
                std::find_if(connections_.begin(), connections_.end(), [](const auto& c) { return c->idle(); });
            if (idle == connections_.end()) {
                return; // closes the new one: every other has a request under way
            }
            const auto oldest = *idle;
            oldest->close();
        }
        auto made = std::make_shared<connection>(
            std::move(socket), up_, payer_, messages_, [weak = weak_from_this()](const auto* ended) {
                if (const auto self = weak.lock()) {
                    std::erase_if(self->connections_, [ended](const auto& c) { return c.get() == ended; });
                }
            });
        connections_.push_back(made);
        made->start();
    }

    local::acceptor acceptor_;
    asio::steady_timer pause_;
    std::shared_ptr<upstream> up_;
    std::shared_ptr<account> payer_;
    std::shared_ptr<message_source> messages_;
    std::vector<std::shared_ptr<connection>> connections_; ///< oldest first
};

failure cannot(std::string_view what, const fs::path& path, const std::string& why) {
    return model_failure(fmt::format("the model gateway cannot {} {}: {}", what, path.string(), why));
}

class gateway_impl final : public gateway {
  public:
    gateway_impl(asio::io_context& io, std::shared_ptr<upstream> up) : io_(io), up_(std::move(up)) {}

    ~gateway_impl() override {
        for (const auto& [path, open] : listeners_) {
            remove(path, open.inode);
        }
        // Connections and libcurl belong to the io thread.
        asio::post(io_, [all = std::move(listeners_), up = std::move(up_)] {
            for (const auto& [path, open] : all) {
                open.listening->close();
            }
            up->client.reset();
        });
    }

    result<void> open(const run_socket& socket) override {
        if (socket.path.native().size() >= sizeof(sockaddr_un::sun_path)) {
            return cannot("listen on", socket.path, "the path is too long for a socket");
        }
        ::unlink(socket.path.c_str());
        boost::system::error_code failed;
        local::acceptor acceptor(io_);
        acceptor.open(local(), failed);
        if (!failed) {
            acceptor.bind(local::endpoint(socket.path.string()), failed);
        }
        if (failed) {
            return cannot("listen on", socket.path, failed.message());
        }
        // Nobody connects before listen(), so nobody gets in before the mode is right.
        if (::chmod(socket.path.c_str(), socket.mode) != 0 ||
            (socket.owner && ::chown(socket.path.c_str(), socket.owner->first, socket.owner->second) != 0)) {
            return cannot("give away", socket.path, std::strerror(errno));
        }
        acceptor.listen(local::acceptor::max_listen_connections, failed);
        if (failed) {
            return cannot("listen on", socket.path, failed.message());
        }
        struct stat found {};
        if (::stat(socket.path.c_str(), &found) != 0) {
            return cannot("look at", socket.path, std::strerror(errno));
        }
        const auto made = std::make_shared<listener>(io_, std::move(acceptor), up_, socket.payer, socket.messages);
        const std::lock_guard lock(mutex_);
        const auto old = std::exchange(listeners_[socket.path], opened{made, found.st_ino});
        asio::post(io_, [made, before = old.listening] {
            if (before) {
                before->close();
            }
            made->accept();
        });
        return {};
    }

    void close(const fs::path& path) override {
        const std::lock_guard lock(mutex_);
        if (auto found = listeners_.extract(path)) {
            remove(path, found.mapped().inode);
            asio::post(io_, [open = found.mapped().listening] { open->close(); });
        }
    }

  private:
    struct opened {
        std::shared_ptr<listener> listening;
        ino_t inode = 0;
    };

    /// Unless another gateway has bound the path by now.
    static void remove(const fs::path& path, ino_t inode) {
        struct stat found {};
        if (::stat(path.c_str(), &found) == 0 && found.st_ino == inode) {
            ::unlink(path.c_str());
        }
    }

    asio::io_context& io_;
    std::shared_ptr<upstream> up_;
    std::mutex mutex_;
    std::map<fs::path, opened> listeners_; ///< guarded by mutex_
};

} // namespace

result<std::shared_ptr<gateway>> gateway::make(asio::io_context& io, const gateway_settings& settings) {
    auto up = std::make_shared<upstream>(io, settings.concurrency);
    up->providers = settings.providers;
    up->prices = settings.prices;
    up->retry = settings.retry;
    up->deadline = settings.call_deadline;
    up->idle = settings.idle_deadline;
    if (settings.record || settings.replay) {
        up->stored = settings.replay ? store_mode::replay : store_mode::record;
        auto store = exchange_store::open(settings.replay ? *settings.replay : *settings.record, !settings.replay);
        if (!store) {
            return store.error();
        }
        up->store = std::move(*store);
    }
    if (!settings.replay) {
        auto client = curl::http_client::make(io, {settings.providers.ca_file, settings.providers.straight});
        if (!client) {
            return client.error();
        }
        up->client = std::move(*client);
    }
    return std::shared_ptr<gateway>(std::make_shared<gateway_impl>(io, std::move(up)));
}

} // namespace chalk::gateway
