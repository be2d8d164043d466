/// The node's interface and what it is made with.
#pragma once

#include "actors/node/gateway_actor.hpp"
#include "actors/node/shared_deadlines.hpp"
#include "actors/run/interfaces.hpp"
#include "actors/run/local_site.hpp"
#include "actors/run/run_record.hpp"
#include "actors/sinks/backend_sink.hpp"
#include "actors/sinks/transcript_writer.hpp"

#include <optional>

namespace chalk::actors {

/// One machine. Owner: the sweep, which restarts it a few times; what ran on it then is lost and run again. Owns its
/// runs, the ledger and the one deadline queue. A run's reservation is released when its actor goes DOWN.
using node_actor = caf::typed_actor<
    /// Admit and run, at once or when there is room. Answer: one run_finished to the sweep.
    caf::reacts_to<start_run>,
    /// All runs end in order; those that wait never start.
    caf::reacts_to<cancel_runs>,
    /// All runs end at once, or one of them.
    caf::reacts_to<kill_runs>, caf::reacts_to<kill_one_run>,
    /// All runs end at once, as errors.
    caf::reacts_to<cut_off_runs>,
    /// Those that wait are given back, each by a run_finished that says so.
    caf::reacts_to<withdraw_runs>,
    /// A new cap on the runs at once.
    caf::reacts_to<set_max_runs>,
    /// How full the disk is, and what chalk itself is short of: from the node's timer and from the pool.
    caf::reacts_to<measure_room>, caf::reacts_to<room_measured>,
    /// From a run that has set a deadline.
    caf::reacts_to<arm_deadlines>,
    /// The node's own timer.
    caf::reacts_to<deadline_timer>,
    /// From a run: its socket to the gateway.
    caf::reacts_to<open_model_socket>,
    /// From a run: its outcome. Passed on when the run is DOWN.
    caf::reacts_to<run_reported>,
    /// The transcript of a run whose actor crashed.
    caf::reacts_to<transcript_written>>;

/// What a sweep asks of whoever carries its runs out: a node, or a cluster of them.
using run_host =
    caf::typed_actor<caf::reacts_to<start_run>, caf::reacts_to<cancel_runs>, caf::reacts_to<kill_runs>,
                     caf::reacts_to<cut_off_runs>, caf::reacts_to<withdraw_runs>, caf::reacts_to<set_max_runs>>;

/// Who hears of runs: the sweep.
using run_listener =
    caf::typed_actor<caf::reacts_to<run_finished>, caf::reacts_to<run_spent>, caf::reacts_to<node_said>>;

/// What every run of a node uses.
struct run_services {
    site_services site;
    local_harness_factory local_harness; ///< for --no-containerized
    transcript_writer transcripts;
    std::shared_ptr<watcher> watch;
    /// Tests put their own here.
    std::function<backend_sink(caf::local_actor*, backend_sink_options, backend_client)> spawn_backend_sink =
        actors::spawn_backend_sink;
};
using services_ptr = std::shared_ptr<const run_services>;

struct node_settings {
    services_ptr services;
    resources capacity;
    std::optional<std::size_t> max_runs;
    std::filesystem::path disk;         ///< a folder on the disk whose room is watched, and with it
                                        ///< chalk's descriptors and processes; empty: nothing is
    std::optional<gateway_site> models; ///< absent: no run asks a model through a gateway
};

/// Spawned and monitored by the sweep.
[[nodiscard]] node_actor spawn_node(caf::local_actor* owner, node_settings settings, run_listener sweep);

/// What a run actor is made of. The node keeps `record` too: should the actor crash, the transcript is written from it.
struct run_setup {
    ticket who{0};
    order_ptr order;
    services_ptr services;
    std::shared_ptr<run_record> record;
    node_actor node;
    std::shared_ptr<shared_deadlines> deadlines; ///< the node's
    std::filesystem::path model_socket;          ///< of the host; empty: the run asks no model
};

/// Spawned and monitored by the node.
[[nodiscard]] run_actor spawn_run(caf::local_actor* owner, run_setup setup);

} // namespace chalk::actors
