#include "protocol/cluster/dial_attempt.hpp"

#include <boost/asio/connect.hpp>
#include <fmt/format.h>

namespace chalk::cluster {

namespace {

using boost::system::error_code;

dial_error error_of_connect(const error_code& failed) {
    namespace error = boost::asio::error;
    if (failed == error::connection_refused) {
        return dial_error::refused;
    }
    return failed == error::timed_out ? dial_error::too_slow : dial_error::unreachable;
}

} // namespace

dial_attempt::dial_attempt(boost::asio::io_context& io, std::shared_ptr<dialer_state> state, dial_target target,
                           std::function<void(dialed)> done)
    : io_(io), state_(std::move(state)), target_(std::move(target)), done_(std::move(done)), deadline_(io),
      resolver_(io), socket_(io) {}

void dial_attempt::start() {
    deadline_.expires_after(target_.deadline);
    deadline_.async_wait([self = shared_from_this()](const error_code& stopped) {
        if (!stopped) {
            self->fail(dial_error::too_slow, fmt::format("not connected after {} ms", self->target_.deadline.count()));
        }
    });
    error_code no_address;
    const auto address = boost::asio::ip::make_address(target_.host, no_address);
    if (!no_address) {
        return connect({tcp::endpoint(address, target_.port)});
    }
    resolver_.async_resolve(target_.host, std::to_string(target_.port), tcp::resolver::numeric_service,
                            [self = shared_from_this()](const error_code& failed, tcp::resolver::results_type found) {
                                if (failed) {
                                    return self->fail(dial_error::unresolved, failed.message());
                                }
                                std::vector<tcp::endpoint> where;
                                for (const auto& one : found) {
                                    where.push_back(one.endpoint());
                                }
                                self->connect(std::move(where));
                            });
}

void dial_attempt::connect(std::vector<tcp::endpoint> where) {
    if (!done_) {
        return;
    }
    boost::asio::async_connect(socket_, where,
                               [self = shared_from_this()](const error_code& failed, const tcp::endpoint& peer) {
                                   if (!self->done_) {
                                       return;
                                   }
                                   if (failed) {
                                       return self->fail(error_of_connect(failed), failed.message());
                                   }
                                   self->connected(peer);
                               });
}

void dial_attempt::connected(const tcp::endpoint& peer) {
    address_ = address_text(peer);
    tune_peer_socket(socket_, target_.vanished_after);
    auto made = tls_stream::on(std::move(socket_), state_->credentials, tls_role::connects);
    if (!made) {
        return fail(dial_error::unreachable, made.error().message);
    }
    stream_.emplace(std::move(*made));
    stream_->ask_for(alpn_name(target_.wanted));
    shake_hands();
}

void dial_attempt::shake_hands() {
    switch (const auto step = stream_->handshake()) {
    case tls_step::done:
        return hands_shaken();
    case tls_step::want_read:
    case tls_step::want_write:
        return wait_for(step, &dial_attempt::shake_hands);
    default:
        return broken();
    }
}

/// Nothing, and failed, where it is nobody to talk to.
std::optional<known_peer> dial_attempt::believed_peer() {
    auto peer = stream_->peer(*state_->credentials);
    if (!peer) {
        const auto& why = peer.error();
        fail(why.reason == refusal_reason::not_allowed ? dial_error::wrong_name : dial_error::bad_certificate,
             why.message, why.reason);
        return std::nullopt;
    }
    if (target_.expected_name && peer->name != *target_.expected_name) {
        fail(dial_error::wrong_name, fmt::format("it is {}, not {}", peer->name.str(), target_.expected_name->str()));
        return std::nullopt;
    }
    return std::move(*peer);
}

void dial_attempt::hands_shaken() {
    if (!believed_peer()) {
        return;
    }
    if (stream_->alpn() != alpn_name(target_.wanted)) {
        return fail(dial_error::not_a_peer, fmt::format("it does not offer {}", alpn_name(target_.wanted)));
    }
    read_welcome();
}

void dial_attempt::read_welcome() {
    char answer = 0;
    std::size_t moved = 0;
    switch (const auto step = stream_->read({&answer, 1}, moved)) {
    case tls_step::done:
        return welcomed(static_cast<welcome>(answer));
    case tls_step::want_read:
    case tls_step::want_write:
        return wait_for(step, &dial_attempt::read_welcome);
    case tls_step::ended:
        return fail(dial_error::closed, "it hung up");
    default:
        return broken();
    }
}

void dial_attempt::welcomed(welcome answer) {
    switch (answer) {
    case welcome::admitted:
        break;
    case welcome::not_allowed:
        return fail(dial_error::not_admitted, "our name is not on its allow list, or our certificate no longer good");
    case welcome::full:
        return fail(dial_error::not_admitted, "it has as many connections as it may have, of all or of our name");
    case welcome::no_channel:
        return fail(dial_error::not_admitted, "it does not know the channel");
    default:
        return fail(dial_error::not_a_peer, "its first byte means nothing to us");
    }
    // Again at the very end, so that a reload that came in between counts.
    auto peer = believed_peer();
    if (!peer) {
        return;
    }
    auto pair = make_local_pair(io_);
    if (!pair) {
        return fail(dial_error::unreachable, pair.error().message);
    }
    peer_connection made{peer->name, target_.wanted, address_, std::move(pair->theirs)};
    state_->peers->add(std::move(*stream_), std::move(pair->ours), std::move(*peer), address_);
    stream_.reset();
    finish(std::move(made));
}

void dial_attempt::broken() {
    const auto& fault = stream_->fault();
    if (fault.reason == refusal_reason::tls_version) {
        return fail(dial_error::not_a_peer, "it does not speak TLS 1.3");
    }
    if (fault.reason == refusal_reason::no_channel) {
        return fail(dial_error::not_a_peer, fmt::format("it does not offer {}", alpn_name(target_.wanted)));
    }
    if (fault.by_peer) {
        return fail(dial_error::not_admitted, fmt::format("it will not have our certificate ({})", fault.text));
    }
    if (is_about_certificate(fault.reason)) {
        return fail(dial_error::bad_certificate, fault.text, fault.reason);
    }
    if (fault.reason == refusal_reason::left) {
        return fail(dial_error::closed, fmt::format("it hung up ({})", fault.text));
    }
    fail(dial_error::not_a_peer, fmt::format("it speaks no TLS ({})", fault.text));
}

void dial_attempt::wait_for(tls_step wanted, void (dial_attempt::*then)()) {
    stream_->wait(wanted, [self = shared_from_this(), then](const error_code& stopped) {
        if (!stopped && self->done_) {
            (self.get()->*then)();
        }
    });
}

void dial_attempt::fail(dial_error code, std::string_view why, std::optional<refusal_reason> reason) {
    finish(dial_failure{code, fmt::format("cannot connect to {}:{}: {}", target_.host, target_.port, why), reason});
}

void dial_attempt::finish(dialed outcome) {
    if (!done_) {
        return;
    }
    const auto done = std::exchange(done_, nullptr);
    deadline_.cancel();
    resolver_.cancel();
    error_code ignored; // it is closed, or handed on
    socket_.close(ignored);
    if (stream_) {
        stream_->socket().close(ignored); // what it waits for ends
    }
    done(std::move(outcome));
}

} // namespace chalk::cluster
