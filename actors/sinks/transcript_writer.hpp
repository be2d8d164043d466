/// The transcript sink of all runs: collects what is to be written while a batch is being synced, so that the faster
/// runs end, the more of them share one sync.
///
/// Owner: whoever made the tree (it outlives sweep and node). If it dies, runs that wait for it end by their own
/// deadline as errors: a run without its record has no result.
#pragma once

#include "actors/node/blocking_pool.hpp"
#include "actors/run/interfaces.hpp"
#include "actors/run/run_record.hpp"
#include "actors/sinks/transcript_files.hpp"

#include <memory>
#include <vector>

namespace chalk::actors {

struct write_transcript {
    ticket who{0};
    std::shared_ptr<const file_job> job;
    transcript_client client;
};

/// The job that writes `record` to the order's transcript file. The record must be sealed: it is read on the pool.
[[nodiscard]] std::shared_ptr<const file_job> transcript_job(const run_order& order,
                                                             std::shared_ptr<const run_record> record);

/// The writer's own: a batch came back from the pool.
struct batch_written {};

using transcript_writer = caf::typed_actor<
    /// Write; the client gets transcript_written.
    caf::reacts_to<write_transcript>,
    /// From the pool.
    caf::reacts_to<batch_written>>;

[[nodiscard]] transcript_writer spawn_transcript_writer(caf::actor_system& system, std::shared_ptr<blocking_pool> pool);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::write_transcript)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::batch_written)
