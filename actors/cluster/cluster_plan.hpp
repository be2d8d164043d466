/// What a sweep's tree is told of the cluster that carries its runs out.
#pragma once

#include "actors/cluster/coordinator.hpp"
#include "actors/cluster/landing_places.hpp"
#include "actors/run/run_order.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace chalk::actors {

struct link_library;

/// What an earlier coordinator left in the journal of attempts that may be alive.
struct open_assignment {
    assignment_name name;
    node_id node;
    std::uint32_t losses = 0; ///< of its run, before
};

struct cluster_plan {
    const link_library* library = nullptr; ///< what links need; null in tests whose nodes are actors of this process
    coordinator_rules rules;
    std::vector<lease> leases; ///< granted and not ended, as the journal has it
    std::vector<open_assignment> open;
    std::string sweep_sheet; ///< what all runs share, as nodes read it
    /// Of an order that is not refused. What fails here is the attempt's outcome.
    std::function<result<std::string>(const run_order&)> run_sheet;
    std::function<run_needs(const run_order&)> needs;
    std::shared_ptr<landing_places> places; ///< where the bulk connection puts what nodes send
    /// How long a closing cluster waits for its nodes to give up their leases.
    milliseconds close_wait{10'000};
};

} // namespace chalk::actors
