/// What a front does, on the io thread: accepts, watches the handshakes, admits or turns away. Owner: the front, and
/// what waits on the io thread for it.
#pragma once

#include "protocol/cluster/front.hpp"
#include "protocol/cluster/open_peers.hpp"
#include "protocol/cluster/waiting_room.hpp"

#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>

namespace chalk::cluster {

class front_core : public std::enable_shared_from_this<front_core> {
  public:
    front_core(boost::asio::io_context& io, std::shared_ptr<const tls_credentials> credentials, front_settings settings,
               front_events events);

    /// Before anything else, on any thread. error_class::config.
    [[nodiscard]] result<void> open();
    void accept();
    void use(std::shared_ptr<const tls_credentials> credentials);
    void close();

    /// Any thread, all of these.
    [[nodiscard]] boost::asio::io_context& io() const noexcept { return io_; }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
    [[nodiscard]] std::uint64_t refused(refusal_reason reason) const noexcept {
        return refused_[static_cast<std::size_t>(reason)];
    }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_; }
    [[nodiscard]] std::size_t peers() const noexcept { return peers_->size(); }

  private:
    using tcp = boost::asio::ip::tcp;
    using ticket = waiting_room::ticket;

    /// One connection that has not authenticated.
    struct arrival {
        tls_stream stream;
        boost::asio::steady_timer deadline;
        boost::asio::ip::address source;
        std::string address;
    };

    void arrive(tcp::socket socket);
    void step(ticket who);
    void broken(ticket who);
    void authenticated(arrival one);
    void admit(arrival one, known_peer peer, channel wanted);
    void put_out(ticket who, refusal_reason reason, const char* detail);
    void turn_away(arrival& one, welcome answer, const refusal& why);
    arrival take(ticket who);
    void tell(const refusal& why);

    boost::asio::io_context& io_;
    std::shared_ptr<const tls_credentials> credentials_;
    front_settings settings_;
    front_events events_;
    tcp::acceptor acceptor_;
    boost::asio::steady_timer pause_;
    connection_rate rate_;
    waiting_room room_;
    std::map<ticket, arrival> arrivals_;
    std::shared_ptr<open_peers> peers_ = std::make_shared<open_peers>(tls_role::connects);
    std::uint16_t port_ = 0;
    std::array<std::atomic<std::uint64_t>, refusal_reasons> refused_{};
    std::atomic<std::size_t> waiting_ = 0; ///< arrivals_' size
};

} // namespace chalk::cluster
