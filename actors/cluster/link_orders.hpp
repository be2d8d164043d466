/// What links (links.hpp) say to the broker that has the sockets, which is in a library that is loaded late. Only ever
/// inside one process.
#pragma once

#include "actors/cluster/link_frames.hpp"
#include "actors/cluster/link_number.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"

#include <caf/all.hpp>

#include <memory>
#include <set>
#include <string>

namespace chalk::actors {

/// What an accepting process shows to those who dial it. The last one holds.
struct publish_root {
    caf::strong_actor_ptr root;
    std::set<std::string> interface;
};

struct open_link {
    link_number number{};
    link_side side = link_side::accepting;
    std::string peer;
    std::shared_ptr<unique_fd> socket; ///< closed when this message is lost
    milliseconds deadline{0};          ///< for the handshake
    bytes most_payload;
    std::set<std::string> expected; ///< of the root's interface
    caf::actor_addr owner;          ///< weak: a link keeps nobody alive
};

struct cut_link {
    link_number number{};
    std::string why;
};

/// To itself.
struct link_deadline_passed {
    link_number number{};
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::publish_root)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_link)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cut_link)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::link_deadline_passed)
