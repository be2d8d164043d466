/// The settings of an actor system that has links to others: chalk node's and a coordinator's. It has CAF's network
/// thread, which no other process of chalk starts.
#pragma once

#include "actors/cluster/link_library.hpp"
#include "actors/cluster/messages.hpp"
#include "actors/system.hpp"

namespace chalk::actors {

/// Owner: main, as actor_system_settings.
class link_system_settings : public actor_system_settings {
  public:
    link_system_settings(const system_options& options, const link_library& library);
};

} // namespace chalk::actors
