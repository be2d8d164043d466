/// One connection on its way: name, TCP, TLS, the other side's certificate, its first byte. Owner: what it waits for;
/// its dialer knows it weakly. Belongs to the io thread.
#pragma once

#include "protocol/cluster/dialer.hpp"
#include "protocol/cluster/open_peers.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <optional>

namespace chalk::cluster {

/// What a dialer believes and whom it has connected.
struct dialer_state {
    std::shared_ptr<const tls_credentials> credentials;
    std::shared_ptr<open_peers> peers = std::make_shared<open_peers>(tls_role::accepts);
};

class dial_attempt : public std::enable_shared_from_this<dial_attempt> {
  public:
    dial_attempt(boost::asio::io_context& io, std::shared_ptr<dialer_state> state, dial_target target,
                 std::function<void(dialed)> done);

    void start();
    void stop() { fail(dial_error::stopped, "chalk is stopping"); }

  private:
    using tcp = boost::asio::ip::tcp;

    void connect(std::vector<tcp::endpoint> where);
    void connected(const tcp::endpoint& peer);
    void shake_hands();
    void hands_shaken();
    void read_welcome();
    void welcomed(welcome answer);
    void broken();
    std::optional<known_peer> believed_peer();
    void wait_for(tls_step wanted, void (dial_attempt::*then)());
    void fail(dial_error code, std::string_view why, std::optional<refusal_reason> reason = {});
    void finish(dialed outcome);

    boost::asio::io_context& io_;
    std::shared_ptr<dialer_state> state_;
    dial_target target_;
    std::function<void(dialed)> done_; ///< empty once it was called
    boost::asio::steady_timer deadline_;
    tcp::resolver resolver_;
    tcp::socket socket_; ///< until it is connected
    std::optional<tls_stream> stream_;
    std::string address_;
};

} // namespace chalk::cluster
