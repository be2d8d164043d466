/// What blocks in a harness: actors that have a thread of their own, do one thing, tell the harness and end.
///
/// Owner: the harness actor, which is linked to them and waits for them before it quits.
#pragma once

#include "actors/harness/lifecycle.hpp"
#include "actors/harness/messages.hpp"

namespace chalk::actors {

/// Tries for a second or two whether the student stays inside (check_firewall). Linked to `self`; `done` hears
/// firewall_checked.
caf::actor spawn_firewall_check(caf::local_actor* self, const harness_core& done, const firewall_options& what);

/// Copies a step's files from the workdir to out/ (copy_artifacts). Linked to `self`; `done` hears agent_did for each
/// file and each complaint, and then artifacts_copied.
caf::actor spawn_artifact_copier(caf::local_actor* self, const harness_core& done, const harness_places& places,
                                 const lifecycle::save_artifacts& what);

} // namespace chalk::actors
