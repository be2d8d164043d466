/// A sweep's folder: a new one, or one to go on with. What is there becomes what the tree starts from.
///
///     DIR/journal.sqlite     every attempt and outcome      DIR/lock           who runs it
///     DIR/options.json       how runs are started           DIR/control.sock   while it runs
///     DIR/runs/<run_id>/attempt-<k>/transcript.json
#pragma once

#include "actors/cluster/cluster_plan.hpp"
#include "actors/sweep/schedule.hpp"
#include "actors/sweep/spending_book.hpp"
#include "actors/sweep/sweep_control.hpp"
#include "cli/sweep/options.hpp"
#include "config/sweep/sweep_file.hpp"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::cli {

/// What of a sweep's folder goes into its tree.
struct opened_sweep {
    actors::sweep_journal journal;
    actors::resume_state before;
    actors::amount spent;
    std::vector<std::string> notes; ///< what a resume found
    // Of a cluster:
    std::string id;                            ///< which sweep it is (cli/cluster/sweep_sheet.hpp)
    std::uint64_t session = 1;                 ///< how many processes have opened the journal, this one counted
    std::vector<actors::lease> leases;         ///< that nodes may still hold
    std::vector<actors::open_assignment> open; ///< attempts that they may still run; they are not settled
};

/// Makes the folder, its options and its journal, and holds its lock. error_class::config when it has a sweep already.
[[nodiscard]] result<opened_sweep> create_sweep(const std::filesystem::path& folder,
                                                const config::loaded_sweep_file& file, const std::string& config,
                                                const run_options& how);

/// The sweep file that the folder's journal was opened with, and the options of DIR/options.json.
struct stored_sweep_parts {
    config::loaded_sweep_file file;
    run_options how;
};
[[nodiscard]] result<stored_sweep_parts> read_sweep(const std::filesystem::path& folder);

/// How many runs a resume would run, those of `requeue` among them. Writes nothing. error_class::config when one of
/// `requeue` was never started or has no outcome.
[[nodiscard]] result<std::uint64_t> runs_left(const std::filesystem::path& folder,
                                              const std::vector<std::string>& requeue);

/// Holds the folder's lock. Attempts that were under way when the last chalk ended are settled; runs named in `requeue`
/// lose their outcome and run once more.
[[nodiscard]] result<opened_sweep> take_up_sweep(const std::filesystem::path& folder, std::uint64_t repeats,
                                                 const std::vector<std::string>& requeue);

} // namespace chalk::cli
