#include "protocol/cluster/dialer.hpp"

#include "protocol/cluster/dial_attempt.hpp"

#include <boost/asio/post.hpp>

#include <list>
#include <stdexcept>

namespace chalk::cluster {

namespace {

/// Everything but the constructor runs on the io thread.
class dialer_core : public std::enable_shared_from_this<dialer_core> {
  public:
    dialer_core(boost::asio::io_context& io, std::shared_ptr<const tls_credentials> credentials) : io_(io) {
        use(std::move(credentials));
    }

    void dial(dial_target target, std::function<void(dialed)> done) {
        attempts_.remove_if([](const std::weak_ptr<dial_attempt>& one) { return one.expired(); });
        const auto made = std::make_shared<dial_attempt>(io_, state_, std::move(target), std::move(done));
        attempts_.push_back(made);
        made->start();
    }
    void use(std::shared_ptr<const tls_credentials> credentials) {
        state_->credentials = std::move(credentials);
        // Whoever has the socket sees the cut.
        (void)state_->peers->recheck(state_->credentials->peers());
    }
    void close() {
        for (const auto& one : std::exchange(attempts_, {})) {
            if (const auto attempt = one.lock()) {
                attempt->stop();
            }
        }
        state_->peers->cut_all();
    }
    [[nodiscard]] boost::asio::io_context& io() const noexcept { return io_; }

  private:
    boost::asio::io_context& io_;
    std::shared_ptr<dialer_state> state_ = std::make_shared<dialer_state>();
    std::list<std::weak_ptr<dial_attempt>> attempts_;
};

class dialer_handle final : public dialer {
  public:
    explicit dialer_handle(std::shared_ptr<dialer_core> core) : core_(std::move(core)) {}
    ~dialer_handle() override {
        boost::asio::post(core_->io(), [last = core_] { last->close(); });
    }
    void dial(dial_target target, std::function<void(dialed)> done) override {
        boost::asio::post(core_->io(), [core = core_, where = std::move(target), then = std::move(done)]() mutable {
            core->dial(std::move(where), std::move(then));
        });
    }
    [[nodiscard]] result<void> reload(const tls_identity& identity, allow_list allowed) override {
        auto credentials = tls_credentials::read(identity, std::move(allowed));
        if (!credentials) {
            return credentials.error();
        }
        boost::asio::post(core_->io(), [core = core_, made = *credentials]() mutable { core->use(std::move(made)); });
        return {};
    }

  private:
    std::shared_ptr<dialer_core> core_;
};

} // namespace

void throw_exception_from_error(const dial_failure& why, const boost::source_location&) {
    throw std::logic_error("value() of a failed connection: " + why.message);
}

result<std::shared_ptr<dialer>> dialer::make(boost::asio::io_context& io, const tls_identity& identity,
                                             allow_list allowed) {
    auto credentials = tls_credentials::read(identity, std::move(allowed));
    if (!credentials) {
        return credentials.error();
    }
    return std::make_shared<dialer_handle>(std::make_shared<dialer_core>(io, std::move(*credentials)));
}

} // namespace chalk::cluster
