#include "protocol/cluster/open_peers.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <sys/socket.h>

namespace chalk::cluster {

result<local_pair> make_local_pair(boost::asio::io_context& io) {
    std::array<int, 2> ends{-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0) {
        return harness_failure(fmt::format("no local socket for a peer: {}", std::strerror(errno)));
    }
    local_pair made{pump::local_socket(io), unique_fd(ends[1])};
    unique_fd first(ends[0]);
    for (const int end : ends) {
        // The kernel doubles it. Together with the pump's chunk that stays below 256 KiB a direction.
        const int size = 64 * 1024;
        (void)::setsockopt(end, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    }
    boost::system::error_code failed;
    made.ours.assign(boost::asio::local::stream_protocol(), first.get(), failed);
    if (failed) {
        return harness_failure(fmt::format("no local socket for a peer: {}", failed.message()));
    }
    (void)first.release();
    return made;
}

std::size_t open_peers::size_of(const node_name& name) const {
    const auto found = of_name_.find(name);
    return found == of_name_.end() ? 0 : found->second;
}

void open_peers::add(tls_stream remote, pump::local_socket local, known_peer peer, std::string address) {
    const auto number = ++last_;
    auto moving = std::make_shared<pump>(std::move(remote), std::move(local), [weak = weak_from_this(), number] {
        if (const auto self = weak.lock()) {
            self->forget(number);
        }
    });
    ++of_name_[peer.name];
    open_.emplace(number, connection{std::move(peer), std::move(address), moving});
    size_ = open_.size();
    moving->start();
}

void open_peers::forget(std::uint64_t number) {
    const auto found = open_.find(number);
    if (found == open_.end()) {
        return;
    }
    const auto of_name = of_name_.find(found->second.peer.name);
    if (--of_name->second == 0) {
        of_name_.erase(of_name);
    }
    open_.erase(found);
    size_ = open_.size();
}

std::vector<refusal> open_peers::recheck(const peer_check& now) {
    std::vector<refusal> cut;
    for (const auto& [number, one] : open_) {
        if (const auto name = now.verify(*one.peer.certificate, shown_by_); !name) {
            cut.push_back({name.error().reason, one.address, one.peer.name, name.error().message, true});
            one.moving->cut(); // it leaves the map later
        }
    }
    return cut;
}

void open_peers::cut_all() {
    for (const auto& [number, one] : open_) {
        one.moving->cut();
    }
}

} // namespace chalk::cluster
