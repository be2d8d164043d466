#include "actors/cluster/basp/link_scribe.hpp"

#include <caf/io/abstract_broker.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <utility>

#include <sys/socket.h>

namespace chalk::actors {

link_scribe::link_scribe(caf::io::network::default_multiplexer& loop, unique_fd socket, link_number number,
                         link_side side, bytes most_payload)
    : scribe_impl(loop, socket.release()), number_(number), frames_(side, most_payload) {
    hdl_ = caf::io::connection_handle::from_int(static_cast<std::int64_t>(number));
    msg().handle = hdl_;
}

void link_scribe::blame(std::string why) {
    if (why_.empty()) {
        why_ = std::move(why);
    }
}

bool link_scribe::consume(caf::execution_unit* ctx, const void* data, std::size_t size) {
    if (detached()) {
        return false;
    }
    const std::string_view next(static_cast<const char*>(data), size);
    const auto what = frames_.take(next);
    if (!what) {
        blame(what.error().message);
        io_failure(ctx, caf::io::network::operation::read);
        return false;
    }
    if (*what == link_frames::piece::handshake) {
        if (auto* watcher = dynamic_cast<link_watcher*>(parent())) {
            watcher->handshake_came(number_, next);
        }
    }
    return scribe_impl::consume(ctx, data, size);
}

void link_scribe::detach_from(caf::io::abstract_broker* broker) {
    scribe_impl::detach_from(broker);
    // At once, both directions: else what waits to be written to a peer that reads nothing would keep the socket open,
    // and with it CAF's event loop, whose end a node waits for when it stops.
    ::shutdown(stream_.fd(), SHUT_RDWR);
    if (auto* watcher = dynamic_cast<link_watcher*>(broker)) {
        watcher->link_ended(number_, why_.empty() ? "the peer is gone, or the connection was cut" : why_);
    }
}

} // namespace chalk::actors
