/// Moves bytes between a TLS connection and a local stream socket, both ways, until both directions have ended or one
/// side is cut.
///
/// Of each direction it holds one chunk, and reads no more of one side until the other has taken it: with the local
/// socket's own buffer that is less than 256 KiB a direction, besides TCP's. The end of a direction is passed on, and
/// the other stays open as long as it is used. Where one side breaks, the other breaks at once, whatever it has unread.
///
/// Owner: open_peers, and its own waits. Belongs to the io thread.
#pragma once

#include "protocol/cluster/tls_stream.hpp"

#include <boost/asio/local/stream_protocol.hpp>

#include <array>
#include <functional>
#include <memory>

namespace chalk::cluster {

class pump : public std::enable_shared_from_this<pump> {
  public:
    using local_socket = boost::asio::local::stream_protocol::socket;

    /// `ended` runs once, later, when the pump is over.
    pump(tls_stream remote, local_socket local, std::function<void()> ended)
        : remote_(std::move(remote)), local_(std::move(local)), ended_(std::move(ended)) {}

    void start();
    /// Both sides at once, unsent bytes and all.
    void cut();

  private:
    /// What TLS puts into one record.
    static constexpr std::size_t chunk_size = 16 * 1024;
    struct chunk {
        std::array<char, chunk_size> data{};
        std::size_t begin = 0;
        std::size_t end = 0;
        [[nodiscard]] std::size_t size() const noexcept { return end - begin; }
        [[nodiscard]] bool empty() const noexcept { return begin == end; }
    };
    /// What must happen before there is more to do.
    struct lacks {
        bool remote_read = false;
        bool remote_write = false;
        bool local_read = false;
        bool local_write = false;
    };

    void go_on();
    bool read_local();
    bool write_remote();
    bool read_remote();
    bool write_local();
    bool notice_closed_remote();
    bool after_remote(tls_step step);
    void wait_for_what_lacks();
    template<class Socket>
    void wait_once(Socket& socket, boost::asio::socket_base::wait_type what, bool& waiting);
    void taker_gone();
    void finish();

    tls_stream remote_;
    local_socket local_;
    std::function<void()> ended_;
    chunk outgoing_; ///< from local to remote
    chunk incoming_;
    lacks lacks_;
    lacks waiting_;
    bool local_ended_ = false;  ///< nothing more comes from it
    bool told_remote_ = false;  ///< and the peer knows
    bool remote_ended_ = false; ///< nothing more comes from the peer
    bool told_local_ = false;
    bool no_taker_ = false; ///< the local side is gone; what it wrote before still goes out
    bool over_ = false;
};

} // namespace chalk::cluster
