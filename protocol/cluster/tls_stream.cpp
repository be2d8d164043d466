#include "protocol/cluster/tls_stream.hpp"

#include "protocol/cluster/socket_bio.hpp"

#include <fmt/format.h>
#include <openssl/err.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

namespace chalk::cluster {

namespace {

using boost::asio::ip::tcp;

/// What may wait in the kernel beyond what is on its way: it bounds memory, and how long a heartbeat waits behind data.
constexpr int most_unsent = 128 * 1024;

/// "alert certificate revoked", of "sslv3 alert certificate revoked" and of "tlsv13 alert certificate required".
std::string alert_text(const char* reason) {
    const std::string_view text = reason == nullptr ? "an alert without a name" : reason;
    const auto word = text.find("alert ");
    return std::string(word == std::string_view::npos ? text : text.substr(word));
}

refusal_reason reason_of_handshake(int reason) {
    switch (reason) {
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
        return refusal_reason::no_certificate;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_VERSION_TOO_LOW:
    case SSL_R_WRONG_SSL_VERSION:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
        return refusal_reason::tls_version;
    case SSL_R_NO_APPLICATION_PROTOCOL:
    case SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL:
        return refusal_reason::no_channel;
    case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return refusal_reason::left;
    default:
        return refusal_reason::not_tls;
    }
}

void set_number(tcp::socket& socket, int level, int option, int value) {
    // Each makes a connection better; without it it still works.
    (void)::setsockopt(socket.native_handle(), level, option, &value, sizeof value);
}

} // namespace

result<tls_stream> tls_stream::on(tcp::socket socket, std::shared_ptr<const tls_credentials> credentials,
                                  tls_role ours) {
    tls_stream made(std::make_unique<tcp::socket>(std::move(socket)), std::move(credentials));
    made.session_ = made.credentials_->session(ours, *made.refused_);
    BIO* bio = made.session_ ? new_socket_bio(made.socket_->native_handle()) : nullptr;
    if (bio == nullptr) {
        ::ERR_clear_error();
        return harness_failure("no memory for a TLS connection");
    }
    ::SSL_set_bio(made.session_.get(), bio, bio); // the session's from here on
    return made;
}

void tls_stream::ask_for(std::string_view alpn) {
    std::string wire(1, static_cast<char>(alpn.size()));
    wire += alpn;
    (void)::SSL_set_alpn_protos(session_.get(), reinterpret_cast<const unsigned char*>(wire.data()),
                                static_cast<unsigned>(wire.size()));
}

tls_step tls_stream::handshake() {
    ::ERR_clear_error();
    errno = 0;
    return after(::SSL_do_handshake(session_.get()));
}

tls_step tls_stream::read(std::span<char> into, std::size_t& moved) {
    ::ERR_clear_error();
    errno = 0;
    moved = 0;
    return after(::SSL_read_ex(session_.get(), into.data(), into.size(), &moved));
}

tls_step tls_stream::write(std::span<const char> from, std::size_t& moved) {
    ::ERR_clear_error();
    errno = 0;
    moved = 0;
    return after(::SSL_write_ex(session_.get(), from.data(), from.size(), &moved));
}

tls_step tls_stream::end_writing() {
    ::ERR_clear_error();
    errno = 0;
    const int returned = ::SSL_shutdown(session_.get());
    // 0: ours is sent, and the peer's has not come.
    return returned >= 0 ? tls_step::done : after(returned);
}

tls_step tls_stream::after(int returned) {
    if (returned > 0) {
        return tls_step::done;
    }
    const int error = ::SSL_get_error(session_.get(), returned);
    switch (error) {
    case SSL_ERROR_WANT_READ:
        return tls_step::want_read;
    case SSL_ERROR_WANT_WRITE:
        return tls_step::want_write;
    case SSL_ERROR_ZERO_RETURN:
        return tls_step::ended;
    default:
        note_fault(error);
        return tls_step::broken;
    }
}

void tls_stream::note_fault(int error) {
    const int system = errno;
    const auto code = ::ERR_peek_last_error();
    const int reason = ERR_GET_REASON(code);
    if (const auto verified = ::SSL_get_verify_result(session_.get()); verified != X509_V_OK) {
        const auto name = credentials_->peers().judge(verified, refused_->get());
        fault_ = {name.error().reason, false, name.error().message};
    } else if (error == SSL_ERROR_SSL && ERR_GET_LIB(code) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET) {
        // An alert that means nothing else to us is the peer's own decision to go.
        const auto known = reason_of_handshake(reason);
        fault_ = {known == refusal_reason::not_tls ? refusal_reason::left : known, true,
                  alert_text(::ERR_reason_error_string(code))};
    } else if (error == SSL_ERROR_SSL) {
        const char* text = ::ERR_reason_error_string(code);
        fault_ = {reason_of_handshake(reason), false, text == nullptr ? "TLS failed" : text};
    } else {
        fault_ = {refusal_reason::left, false, system == 0 ? "the connection ended" : std::strerror(system)};
    }
    ::ERR_clear_error();
}

peer_result<known_peer> tls_stream::peer(const tls_credentials& now) const {
    certificate_owner shown(::SSL_get1_peer_certificate(session_.get()));
    // Without a certificate there is nothing to look at again.
    auto name =
        &now == credentials_.get() || !shown
            ? now.peers().judge(::SSL_get_verify_result(session_.get()), shown.get())
            : now.peers().verify(*shown, ::SSL_is_server(session_.get()) == 1 ? tls_role::connects : tls_role::accepts);
    if (!name) {
        return name.error();
    }
    return known_peer{std::move(*name), std::move(shown)};
}

std::string_view tls_stream::alpn() const {
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    ::SSL_get0_alpn_selected(session_.get(), &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
}

void tune_peer_socket(tcp::socket& socket, std::chrono::seconds vanished_after) {
    const auto whole = static_cast<int>(std::clamp<std::int64_t>(vanished_after.count(), 1, 24 * 3600));
    set_number(socket, IPPROTO_TCP, TCP_NODELAY, 1);
    set_number(socket, IPPROTO_TCP, TCP_NOTSENT_LOWAT, most_unsent);
    // Silent for a third of the time: then four questions, a sixth apart. What is unacknowledged or not taken has a
    // deadline of its own, since the kernel asks nothing while something is on its way.
    set_number(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
    set_number(socket, IPPROTO_TCP, TCP_KEEPIDLE, std::max(1, whole / 3));
    set_number(socket, IPPROTO_TCP, TCP_KEEPINTVL, std::max(1, whole / 6));
    set_number(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
    set_number(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, whole * 1000);
}

void close_hard(tcp::socket& socket) {
    boost::system::error_code ignored; // of a connection that ends either way
    socket.set_option(boost::asio::socket_base::linger(true, 0), ignored);
    socket.close(ignored);
}

std::string address_text(const tcp::endpoint& peer) {
    const auto address = peer.address().to_string();
    return peer.address().is_v6() ? fmt::format("[{}]:{}", address, peer.port())
                                  : fmt::format("{}:{}", address, peer.port());
}

} // namespace chalk::cluster
