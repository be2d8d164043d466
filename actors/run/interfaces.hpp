/// The interfaces of a run and of what belongs to it alone.
#pragma once

#include "actors/harness/interfaces.hpp"
#include "actors/node/messages.hpp"

namespace chalk::actors {

/// One attempt at one run. Owner: the node, which holds its handle and monitors it. It is never restarted: when it
/// dies, the run ends as an error of class harness and its sandbox is killed and removed by the destructor of what held
/// it.
using run_actor = caf::typed_actor<
    /// From the harness or the event relay: its next events.
    caf::reacts_to<events_recorded>,
    /// --prepare-only: the harness waits.
    caf::reacts_to<run_prepared>,
    /// End in order, as cancelled.
    caf::reacts_to<cancel_run>,
    /// End at once, as cancelled.
    caf::reacts_to<kill_run>,
    /// End at once, as an error.
    caf::reacts_to<cut_off_run>,
    /// From the pool: the sandbox may start, or why not.
    caf::reacts_to<site_prepared>,
    /// From the gateway: the run's models can be asked, or why not.
    caf::reacts_to<model_socket_opened>,
    /// From the pool: the sandbox runs, or why not.
    caf::reacts_to<site_started>,
    /// The harness is gone.
    caf::reacts_to<site_ended>,
    /// From the pool: nothing is left of the sandbox, or what is.
    caf::reacts_to<site_removed>,
    /// From the event relay: nothing more will be heard.
    caf::reacts_to<host_channel_ended>,
    /// From the transcript writer.
    caf::reacts_to<transcript_written>,
    /// From the backend sink: what the log should say of it.
    caf::reacts_to<backend_said>,
    /// From the backend sink: nothing more will be sent.
    caf::reacts_to<backend_settled>,
    /// From the node's deadline queue.
    caf::reacts_to<deadline_passed>>;

/// Who asked for a transcript to be written.
using transcript_client = caf::typed_actor<caf::reacts_to<transcript_written>>;

/// Whose events a backend sink sends: a run.
using backend_client = caf::typed_actor<caf::reacts_to<backend_said>, caf::reacts_to<backend_settled>>;

} // namespace chalk::actors
