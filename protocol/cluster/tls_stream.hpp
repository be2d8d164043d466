/// A TCP connection with TLS on it, without waiting: each step does what it can and says what it lacks.
///
/// Not Boost.Asio's own stream: that one cannot end one direction alone (its shutdown waits for the peer's), and keeps
/// four buffers of 17 KiB for each connection, also for one that says nothing.
///
/// Belongs to the io thread.
#pragma once

#include "protocol/cluster/tls_credentials.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <memory>
#include <span>
#include <string>

namespace chalk::cluster {

enum class tls_step : std::uint8_t {
    done,
    want_read,  ///< once the socket has bytes
    want_write, ///< once it takes bytes
    ended,      ///< the peer said that it sends no more
    broken,     ///< for good; see fault()
};

/// Why a step broke.
struct tls_fault {
    refusal_reason reason = refusal_reason::not_tls;
    bool by_peer = false; ///< it told us so by an alert: it is our certificate, or what we ask for
    std::string text;     ///< for a person
};

class tls_stream {
  public:
    /// `socket` is connected. error_class::harness for want of memory.
    [[nodiscard]] static result<tls_stream> on(boost::asio::ip::tcp::socket socket,
                                               std::shared_ptr<const tls_credentials> credentials, tls_role ours);

    /// Before the first handshake(), where we connect: what to ask for.
    void ask_for(std::string_view alpn);
    [[nodiscard]] tls_step handshake();
    /// Both at most what there is room for, or what there is; `moved` in bytes, 0 but for `done`.
    [[nodiscard]] tls_step read(std::span<char> into, std::size_t& moved);
    /// The rest must be written next, from wherever it lies by then.
    [[nodiscard]] tls_step write(std::span<const char> from, std::size_t& moved);
    /// Says that we send no more. We may go on reading. Done once it is on its way.
    [[nodiscard]] tls_step end_writing();

    /// After `broken`.
    [[nodiscard]] const tls_fault& fault() const noexcept { return fault_; }
    /// After the handshake: what the caller asked for and the other side took; empty: nothing.
    [[nodiscard]] std::string_view alpn() const;
    /// After the handshake: who the other side is, or why not to talk to it, by what holds now. Cheap where that is
    /// what the handshake began with.
    [[nodiscard]] peer_result<known_peer> peer(const tls_credentials& now) const;

    [[nodiscard]] boost::asio::ip::tcp::socket& socket() noexcept { return *socket_; }
    /// Calls `go(error_code)` when the socket is ready for what `wanted` says.
    template<class Handler>
    void wait(tls_step wanted, Handler go) {
        using boost::asio::socket_base;
        socket_->async_wait(wanted == tls_step::want_write ? socket_base::wait_write : socket_base::wait_read,
                            std::move(go));
    }

  private:
    tls_stream(std::unique_ptr<boost::asio::ip::tcp::socket> socket, std::shared_ptr<const tls_credentials> credentials)
        : socket_(std::move(socket)), credentials_(std::move(credentials)) {}
    tls_step after(int returned);
    void note_fault(int error);

    // Both outlive the session, which uses them.
    std::unique_ptr<boost::asio::ip::tcp::socket> socket_;
    std::unique_ptr<certificate_owner> refused_ = std::make_unique<certificate_owner>(); ///< in the handshake
    std::shared_ptr<const tls_credentials> credentials_;                                 ///< those that it began with
    tls_session_owner session_;
    tls_fault fault_;
};

/// How this side's TCP behaves: small messages at once, not much waiting unsent, and a peer that vanished without a
/// word is noticed after `vanished_after` (at least 1 s): whether nothing is on its way to it, or it acknowledges
/// nothing, or it takes nothing.
void tune_peer_socket(boost::asio::ip::tcp::socket& socket, std::chrono::seconds vanished_after);

/// Closes at once and drops what is unsent: the peer sees a reset, and no address is kept for late packets.
void close_hard(boost::asio::ip::tcp::socket& socket);

/// `ADDR:PORT` or `[ADDR]:PORT`.
[[nodiscard]] std::string address_text(const boost::asio::ip::tcp::endpoint& peer);

} // namespace chalk::cluster
