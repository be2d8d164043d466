/// What a node and its coordinator say to one another over a link (docs/protocols/cluster-messages.md), and who takes
/// what.
#pragma once

#include "actors/cluster/lease_messages.hpp"
#include "actors/cluster/run_messages.hpp"

#include <caf/all.hpp>

namespace chalk::actors {

/// What a node sends to. Published by the coordinator.
using coordinator_port =
    caf::typed_actor<caf::reacts_to<hello>, caf::reacts_to<renew_lease>, caf::reacts_to<lease_given_up>,
                     caf::reacts_to<runs_kept>, caf::reacts_to<run_ended>, caf::reacts_to<run_noted>,
                     caf::reacts_to<node_told>, caf::reacts_to<digest_changed>, caf::reacts_to<node_probed>>;

/// What a coordinator sends to. Published by a node that listens; of one that dialled, the sender of its hello.
using node_port =
    caf::typed_actor<caf::reacts_to<call_in>, caf::reacts_to<join_refused>, caf::reacts_to<lease_granted>,
                     caf::reacts_to<lease_renewed>, caf::reacts_to<lease_over>, caf::reacts_to<sweep_described>,
                     caf::reacts_to<run_assigned>, caf::reacts_to<run_dropped>, caf::reacts_to<result_taken>,
                     caf::reacts_to<probe_wanted>, caf::reacts_to<runs_cancelled>, caf::reacts_to<runs_cut_off>,
                     caf::reacts_to<runs_withdrawn>, caf::reacts_to<sweep_over>>;

} // namespace chalk::actors

// Far from the end of the other block, which grows.
CAF_BEGIN_TYPE_ID_BLOCK(chalk_cluster, first_custom_type_id + 200)
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::hello))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::lease_granted))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::renew_lease))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::lease_renewed))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::lease_given_up))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::call_in))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::join_refused))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::lease_over))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::runs_kept))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::sweep_described))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::run_assigned))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::run_dropped))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::run_ended))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::result_taken))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::run_noted))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::node_told))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::digest_changed))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::probe_wanted))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::node_probed))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::runs_cancelled))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::runs_cut_off))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::runs_withdrawn))
CAF_ADD_TYPE_ID(chalk_cluster, (chalk::actors::sweep_over))
CAF_END_TYPE_ID_BLOCK(chalk_cluster)
