/// What the runs of one sweep start from on a node: the coordinator's sheets become orders, as sweep_site makes them
/// where there is no cluster. Folders, keys, prices and proxies are the node's, limits and deadlines the sheet's.
///
/// Owner: the node, one for each sweep that it has runs of. Thread-safe: environments are prepared on a pool thread
/// while an actor makes orders. When it dies, runs that have their orders go on.
#pragma once

#include "cli/cluster/run_sheet.hpp"
#include "cli/cluster/sweep_sheet.hpp"
#include "cli/run/prepare_run.hpp"

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace chalk::cli {

class node_site {
  public:
    /// In the folder of an attempt.
    static constexpr std::string_view transcript_name = "transcript.json";
    static constexpr std::string_view artifacts_name =
        "transcript_artifacts"; ///< a folder; not there when there are none

    /// `sandboxes`: the node's runtime, null where it has none. Blocking: looks at what waits for a backend. Refused
    /// when the sweep needs another runtime, or CHALK_STUDENT_NETWORK of this machine is no word that chalk knows.
    [[nodiscard]] static step_result<std::unique_ptr<node_site>>
    make(sweep_sheet sheet, std::shared_ptr<runtime> sandboxes, const own_keys& keys);

    [[nodiscard]] const sweep_sheet& sheet() const noexcept { return sheet_; }

    /// Reads the environment `name` (of the sheet) in the folder where its tree was materialised; builtin:noop has
    /// none. Once: it is kept until drop(), and asking again with the same folder costs nothing. Blocking, one at a
    /// time. error_class::harness: not an environment of the sweep, or the folder holds not what the coordinator read.
    [[nodiscard]] result<void> prepare(std::string_view name, const std::filesystem::path& folder);
    [[nodiscard]] bool holds(std::string_view name) const;
    /// No order is made of it any more until it is prepared again. Its folder may go when the runs of it have ended.
    void drop(std::string_view name);

    /// Of a run of this sweep. `folder`: where its files go, its own. A run that cannot begin (its environment was not
    /// prepared) says so in the order. Does not block.
    [[nodiscard]] actors::order_ptr order(const run_sheet& run, const std::filesystem::path& folder) const;

  private:
    using prepared_ptr = std::shared_ptr<const prepared_runs>;

    node_site(sweep_sheet sheet, prepared_runs common);
    [[nodiscard]] prepared_ptr find(std::string_view name) const;

    sweep_sheet sheet_;
    run_options how_;
    prepared_runs common_;
    std::mutex preparing_;
    mutable std::mutex mutex_; ///< of the map
    std::map<std::string, prepared_ptr, std::less<>> prepared_;
};

} // namespace chalk::cli
