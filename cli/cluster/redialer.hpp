/// Keeps up a connection that this machine makes: dials, hands over what comes of it, and dials again when it is told
/// that it ended. Between tries it waits, each time longer, by chance a little more or less, so that a thousand nodes
/// do not come back to a restarted coordinator at once.
///
/// Owner: the command, and what is under way. On the io thread, but for the functions that say so.
#pragma once

#include "protocol/cluster/dialer.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>

namespace chalk::cli {

struct redial_waits {
    milliseconds first{200};
    milliseconds longest{10'000};
};

class redialer : public std::enable_shared_from_this<redialer> {
  public:
    struct events {
        std::function<void(cluster::peer_connection)> connected;
        /// Why a try failed; once for each cause in a row.
        std::function<void(const std::string&)> failed;
    };

    redialer(boost::asio::io_context& io, std::shared_ptr<cluster::dialer> by, cluster::dial_target target, events on,
             redial_waits waits = {});

    /// Any thread. Dials now, unless a connection stands or is being made.
    void dial();
    /// Any thread. The connection that was handed over has ended: dials again, soon.
    void lost();
    /// Any thread. Nothing more is dialled and nobody called.
    void stop();

  private:
    using clock = std::chrono::steady_clock;
    enum class standing { idle, dialling, waiting, connected, stopped };
    void try_now();
    void on_dialed(cluster::dialed how);
    void wait();

    boost::asio::io_context& io_;
    std::shared_ptr<cluster::dialer> by_;
    cluster::dial_target target_;
    events on_;
    redial_waits waits_;
    boost::asio::steady_timer timer_;
    milliseconds next_wait_;
    std::string last_cause_;
    clock::time_point connected_at_{};
    standing at_ = standing::idle;
    std::minstd_rand chance_;
};

} // namespace chalk::cli
