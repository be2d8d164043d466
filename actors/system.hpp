/// The one place where an actor system is configured: message types, threads, scheduling.
#pragma once

#include "actors/messages.hpp"

#include <caf/all.hpp>

#include <cstddef>

namespace chalk::actors {

struct system_options {
    std::size_t threads = 2;
    /// A harness's process exists once per sandbox and must not burn cpu while it waits: the sharing scheduler is idle
    /// when nothing happens, the stealing one polls but is faster under load.
    bool sharing = true;
};

/// Owner: main, after the io thread and before everything that holds actors.
class actor_system_settings : public caf::actor_system_config {
  public:
    explicit actor_system_settings(const system_options& options) {
        add_message_types<caf::id_block::chalk>();
        set("scheduler.max-threads", options.threads);
        set("scheduler.policy", options.sharing ? caf::atom("sharing") : caf::atom("stealing"));
    }
};

} // namespace chalk::actors
