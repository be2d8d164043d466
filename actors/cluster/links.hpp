/// Makes CAF nodes of the bytes that protocol/cluster's front and dialer hand over: each end of a local socket pair
/// becomes a link, over which actors of two processes send one another messages. No port is opened, and no socket that
/// another user of the machine could reach.
///
/// Every request over a link has a finite timeout: a peer that is stopped, or lost with the message on the way, answers
/// nothing. Sending is bounded by credits (credit_window.hpp): CAF queues without a bound what a link does not take.
///
/// Two processes dial one another in one direction only. When both did at once, each new link would end the other.
///
/// Owner: the node or the coordinator, one a process. Links outlive this object; they end with the actor system.
#pragma once

#include "actors/cluster/link_events.hpp"
#include "actors/cluster/link_frames.hpp"
#include "actors/cluster/link_library.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"

#include <caf/all.hpp>

#include <set>
#include <string>
#include <utility>

namespace chalk::actors {

struct link_settings {
    milliseconds handshake_deadline{10'000};
    /// Of one message. The other side of a link that is sent more ends it: what may be larger goes in chunks.
    bytes most_payload = 16_MiB;
};

class links {
  public:
    /// `system` has link_system_settings with that library, and outlives this. `owner` hears of every link; it is not
    /// kept alive.
    links(caf::actor_system& system, const link_library& library, const link_owner& owner, link_settings settings = {});

    /// Before adopt(): what this process shows to those who dial it. It is held until the system ends, so it has to be
    /// told to quit. A new one takes the place of the old for links that come later.
    template<class Handle>
    void publish(const Handle& root) {
        publish(caf::actor_cast<caf::strong_actor_ptr>(root), interface_of<Handle>());
    }

    /// Any thread, these three; the answer is peer_linked or link_failed to the owner within the deadline. `peer` is
    /// the name in its certificate, and comes back in each message about the link.
    link_number adopt(std::string peer, unique_fd socket);
    /// `Handle` is what the peer's root has to be.
    template<class Handle>
    link_number connect(std::string peer, unique_fd socket) {
        return open(link_side::dialing, std::move(peer), std::move(socket), interface_of<Handle>());
    }
    /// Its end comes as a link_lost with `why`. An unknown number changes nothing.
    void cut(link_number number, std::string why);

  private:
    template<class Handle>
    [[nodiscard]] std::set<std::string> interface_of() const {
        return system_.message_types(caf::detail::type_list<Handle>{});
    }
    void publish(caf::strong_actor_ptr root, std::set<std::string> interface);
    link_number open(link_side side, std::string peer, unique_fd socket, std::set<std::string> expected);

    caf::actor_system& system_;
    caf::actor broker_;
    caf::actor_addr owner_;
    link_settings settings_;
};

} // namespace chalk::actors
