/// The part of chalk that needs CAF's network (basp/), loaded by those who have links and by nobody else: libcaf_io
/// costs every start of a process 2 ms, and a harness or a `chalk run` has no links.
#pragma once

#include "protocol/core/result.hpp"

#include <caf/all.hpp>

namespace chalk::actors {

struct link_library {
    /// The network of an actor system, which owns it.
    caf::actor_system::module* (*make_module)(caf::actor_system&) = nullptr;
    /// Its broker, which takes the orders of link_orders.hpp.
    void (*find_broker)(caf::actor_system&, caf::actor& found) = nullptr;
};

/// Any thread; blocks for the time that loading takes (5 ms). Stays loaded to the end of the process.
/// error_class::harness with what is missing.
[[nodiscard]] result<const link_library*> load_link_library();

} // namespace chalk::actors
