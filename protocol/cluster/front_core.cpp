#include "protocol/cluster/front_core.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cluster {

namespace {

using boost::system::error_code;

/// After a failed accept, which out of descriptors would fail again at once.
constexpr milliseconds pause_of_accept{100};
constexpr int accept_backlog = 1024;

/// The first byte of ours. The socket is new and takes it at once, or is broken.
bool say(tls_stream& stream, welcome answer) {
    const char byte = static_cast<char>(answer);
    std::size_t moved = 0;
    return stream.write({&byte, 1}, moved) == tls_step::done;
}

} // namespace

front_core::front_core(boost::asio::io_context& io, std::shared_ptr<const tls_credentials> credentials,
                       front_settings settings, front_events events)
    : io_(io), credentials_(std::move(credentials)), settings_(std::move(settings)), events_(std::move(events)),
      acceptor_(io), pause_(io), rate_(settings_.rate), room_(std::max<std::size_t>(1, settings_.most_waiting)) {}

result<void> front_core::open() {
    error_code failed;
    const auto address = boost::asio::ip::make_address(settings_.host, failed);
    const tcp::endpoint where(address, settings_.port);
    if (!failed) {
        acceptor_.open(where.protocol(), failed);
    }
    if (!failed) {
        acceptor_.set_option(boost::asio::socket_base::reuse_address(true), failed);
    }
    if (!failed) {
        acceptor_.bind(where, failed);
    }
    if (!failed) {
        acceptor_.listen(accept_backlog, failed);
    }
    if (failed) {
        return config_failure(
            fmt::format("cannot listen on {}:{}: {}", settings_.host, settings_.port, failed.message()));
    }
    port_ = acceptor_.local_endpoint(failed).port();
    return {};
}

void front_core::accept() {
    if (!acceptor_.is_open()) {
        return;
    }
    acceptor_.async_accept([self = shared_from_this()](const error_code& failed, tcp::socket socket) {
        if (!self->acceptor_.is_open()) {
            return;
        }
        if (!failed) {
            self->arrive(std::move(socket));
            self->accept();
            return;
        }
        self->pause_.expires_after(pause_of_accept);
        self->pause_.async_wait([self](const error_code& stopped) {
            if (!stopped) {
                self->accept();
            }
        });
    });
}

void front_core::arrive(tcp::socket socket) {
    error_code gone;
    const auto peer = socket.remote_endpoint(gone);
    if (gone) {
        return tell({refusal_reason::left, {}, {}, gone.message()});
    }
    const auto source = source_of(peer.address());
    if (!rate_.admit(source, std::chrono::steady_clock::now())) {
        close_hard(socket);
        return tell({refusal_reason::too_fast, address_text(peer), {}, "its address connects too often"});
    }
    tune_peer_socket(socket, settings_.vanished_after);
    auto stream = tls_stream::on(std::move(socket), credentials_, tls_role::accepts);
    if (!stream) {
        return tell({refusal_reason::no_resources, address_text(peer), {}, stream.error().message});
    }
    const auto [mine, crowded_out] = room_.enter(source);
    const auto placed = arrivals_.emplace(
        mine, arrival{std::move(*stream), boost::asio::steady_timer(io_), source, address_text(peer)});
    waiting_ = arrivals_.size();
    auto& deadline = placed.first->second.deadline;
    deadline.expires_after(settings_.handshake_deadline);
    deadline.async_wait([self = shared_from_this(), who = mine](const error_code& stopped) {
        if (!stopped) {
            self->put_out(who, refusal_reason::too_slow, "it did not authenticate in time");
        }
    });
    if (crowded_out) {
        put_out(*crowded_out, refusal_reason::pushed_out, "newer connections needed its place");
    }
    step(mine);
}

void front_core::step(ticket who) {
    const auto found = arrivals_.find(who);
    if (found == arrivals_.end()) {
        return;
    }
    auto& stream = found->second.stream;
    const auto done = stream.handshake();
    switch (done) {
    case tls_step::done:
        return authenticated(take(who));
    case tls_step::want_read:
    case tls_step::want_write:
        stream.wait(done, [self = shared_from_this(), who](const error_code& stopped) {
            if (!stopped) {
                self->step(who);
            }
        });
        return;
    default:
        return broken(who);
    }
}

/// OpenSSL has told the peer why: the alert is on its way, and the close leaves it there.
void front_core::broken(ticket who) {
    const auto one = take(who);
    const auto& fault = one.stream.fault();
    tell({fault.reason, one.address, {}, fault.by_peer ? "the peer sent: " + fault.text : fault.text});
}

/// It has shown a certificate of ours and holds its key. What it may do is another question, and a reload may have come
/// in between.
void front_core::authenticated(arrival one) {
    auto peer = one.stream.peer(*credentials_);
    if (!peer) {
        const auto& why = peer.error();
        return turn_away(one, welcome::not_allowed, {why.reason, one.address, why.name, why.message});
    }
    const auto& name = peer->name;
    const auto wanted = channel_of(one.stream.alpn());
    if (!wanted) {
        return turn_away(one, welcome::no_channel,
                         {refusal_reason::no_channel, one.address, name, "it asked for no channel (ALPN)"});
    }
    if (peers_->size() >= settings_.most_peers || peers_->size_of(name) >= settings_.most_peers_of_a_name) {
        return turn_away(
            one, welcome::full,
            {refusal_reason::too_many, one.address, name,
             fmt::format("{} connections are open, {} of this name", peers_->size(), peers_->size_of(name))});
    }
    admit(std::move(one), std::move(*peer), *wanted);
}

void front_core::admit(arrival one, known_peer peer, channel wanted) {
    auto pair = make_local_pair(io_);
    if (!pair) {
        return turn_away(one, welcome::full,
                         {refusal_reason::no_resources, one.address, peer.name, pair.error().message});
    }
    if (!say(one.stream, welcome::admitted)) {
        return tell({refusal_reason::left, one.address, peer.name, one.stream.fault().text});
    }
    rate_.give_back(one.source);
    peer_connection made{peer.name, wanted, one.address, std::move(pair->theirs)};
    peers_->add(std::move(one.stream), std::move(pair->ours), std::move(peer), std::move(one.address));
    if (events_.admitted) {
        events_.admitted(std::move(made));
    }
}

void front_core::turn_away(arrival& one, welcome answer, const refusal& why) {
    // Told or not, it does not come in.
    (void)say(one.stream, answer);
    (void)one.stream.end_writing();
    tell(why);
}

void front_core::put_out(ticket who, refusal_reason reason, const char* detail) {
    if (!arrivals_.contains(who)) {
        return;
    }
    auto one = take(who);
    close_hard(one.stream.socket());
    tell({reason, one.address, {}, detail});
}

front_core::arrival front_core::take(ticket who) {
    room_.leave(who);
    auto node = arrivals_.extract(who);
    waiting_ = arrivals_.size();
    node.mapped().deadline.cancel();
    return std::move(node.mapped());
}

void front_core::tell(const refusal& why) {
    ++refused_[static_cast<std::size_t>(why.reason)];
    if (events_.refused) {
        events_.refused(why);
    }
}

void front_core::use(std::shared_ptr<const tls_credentials> credentials) {
    credentials_ = std::move(credentials);
    for (const auto& one : peers_->recheck(credentials_->peers())) {
        tell(one);
    }
}

void front_core::close() {
    error_code ignored; // nothing is left to tell it to
    acceptor_.close(ignored);
    pause_.cancel();
    arrivals_.clear();
    waiting_ = 0;
    peers_->cut_all();
}

} // namespace chalk::cluster
