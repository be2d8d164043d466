#include "protocol/cluster/front.hpp"

#include "protocol/cluster/front_core.hpp"

#include <boost/asio/post.hpp>

namespace chalk::cluster {

namespace {

class front_handle final : public front {
  public:
    explicit front_handle(std::shared_ptr<front_core> core) : core_(std::move(core)) {}
    ~front_handle() override {
        boost::asio::post(core_->io(), [last = core_] { last->close(); });
    }

    [[nodiscard]] std::uint16_t port() const noexcept override { return core_->port(); }
    [[nodiscard]] std::uint64_t refused(refusal_reason reason) const noexcept override {
        return core_->refused(reason);
    }
    [[nodiscard]] std::size_t waiting() const noexcept override { return core_->waiting(); }
    [[nodiscard]] std::size_t peers() const noexcept override { return core_->peers(); }

    [[nodiscard]] result<void> reload(const tls_identity& identity, allow_list allowed) override {
        auto credentials = tls_credentials::read(identity, std::move(allowed));
        if (!credentials) {
            return credentials.error();
        }
        boost::asio::post(core_->io(), [core = core_, made = *credentials]() mutable { core->use(std::move(made)); });
        return {};
    }

  private:
    std::shared_ptr<front_core> core_;
};

} // namespace

result<std::shared_ptr<front>> front::listen(boost::asio::io_context& io, const tls_identity& identity,
                                             allow_list allowed, front_settings settings, front_events events) {
    auto credentials = tls_credentials::read(identity, std::move(allowed));
    if (!credentials) {
        return credentials.error();
    }
    auto core = std::make_shared<front_core>(io, std::move(*credentials), std::move(settings), std::move(events));
    if (auto opened = core->open(); !opened) {
        return opened.error();
    }
    // The acceptor is touched on the io thread only from here on.
    boost::asio::post(io, [core] { core->accept(); });
    return std::make_shared<front_handle>(std::move(core));
}

} // namespace chalk::cluster
