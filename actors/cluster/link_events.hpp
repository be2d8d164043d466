/// What the owner of links hears of them. Only ever inside one process.
#pragma once

#include "actors/cluster/link_number.hpp"
#include "protocol/core/result.hpp"

#include <caf/all.hpp>

#include <string>

namespace chalk::actors {

/// The link stands. Of a link to the same process that was there before, link_lost has been sent first; its handle
/// stays dead for ever, although it compares equal to this one.
struct peer_linked {
    link_number number{};
    std::string peer;
    caf::node_id process; ///< the peer's: its actors' handles name it
    /// What the peer has published. Null on the accepting side: the peer says who it is by its first message.
    caf::strong_actor_ptr root;
};

/// The link never stood, and nothing more comes of it.
struct link_failed {
    link_number number{};
    std::string peer;
    failure why; ///< timeout: the deadline passed; node_lost: anything else
};

/// The link stood and has ended. Whoever monitors actors of that peer gets their DOWNs as well, a moment before or
/// after.
struct link_lost {
    link_number number{};
    std::string peer;
    caf::node_id process;
    caf::strong_actor_ptr root; ///< dead from now on; as in peer_linked
    std::string why;
};

using link_owner =
    caf::typed_actor<caf::reacts_to<peer_linked>, caf::reacts_to<link_failed>, caf::reacts_to<link_lost>>;

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::peer_linked)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::link_failed)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::link_lost)
