/// The sweep's journal as an actor: the one writer, on a thread of its own, since each batch waits for the disk.
///
/// Owner: the sweep, which sends one batch at a time and goes on only when that is durable. If it dies, the sweep
/// starts another one over the same folder and sends the batch again.
#pragma once

#include "actors/cluster/cluster_messages.hpp"
#include "actors/sweep/requeue.hpp"
#include "actors/sweep/sweep_control.hpp"
#include "protocol/journal/journal_file.hpp"

#include <caf/all.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace chalk::actors {

using record_batch = std::shared_ptr<const std::vector<journal::record>>;

struct write_records {
    record_batch records;
};

/// Which runs of these names there are, and how they stand.
struct look_up_runs {
    std::vector<std::string> ids;
};

struct records_written {
    result<void> how;
    journal::trouble why = journal::trouble::none;
};

struct runs_looked_up {
    result<std::vector<found_run>> how;
};

using journal_client =
    caf::typed_actor<caf::reacts_to<records_written>, caf::reacts_to<runs_looked_up>, caf::reacts_to<assignment_found>>;

using journal_actor = caf::typed_actor<
    /// All or nothing. Answer: records_written.
    caf::reacts_to<write_records>,
    /// Answer: runs_looked_up.
    caf::reacts_to<look_up_runs>,
    /// Answer: assignment_found. None when the journal cannot be read.
    caf::reacts_to<find_assignment>>;

/// Monitored by the sweep. A journal that cannot be opened answers every batch with why.
[[nodiscard]] journal_actor spawn_journal(caf::local_actor* owner, const sweep_journal& journal, journal_client client);

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::write_records)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::look_up_runs)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::records_written)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::runs_looked_up)
