/// What the runs of a sweep start from: its environments, looked at once each, and how the order of an attempt is made.
#pragma once

#include "actors/node/ledger.hpp"
#include "cli/run/prepare_run.hpp"
#include "cli/sweep/options.hpp"
#include "config/sweep/sweep_runs.hpp"

#include <map>
#include <memory>
#include <mutex>

namespace chalk::cli {

/// One environment of the sweep.
struct sweep_environment {
    prepared_runs prepared; ///< its base is a run of the sweep's
    task_list tasks;        ///< empty where nobody could be asked
};

class sweep_site {
  public:
    /// Looks at every environment that a cell may have, each in a throwaway sandbox; blocking. Nothing is written yet.
    /// `sandboxes`: a runtime that is open already; null where it is to be opened, as the options say.
    [[nodiscard]] static step_result<std::unique_ptr<sweep_site>>
    prepare(boost::asio::io_context& io, config::loaded_sweep_file file, const sweep_options& options,
            const own_keys& keys, std::shared_ptr<runtime> sandboxes = nullptr);

    [[nodiscard]] config::sweep_runs& runs() noexcept { return runs_; }
    [[nodiscard]] const std::string& name() const noexcept { return runs_.file().sweep.name; }
    [[nodiscard]] const run_options& how() const noexcept { return how_; }
    /// The first environment's: what all of them share.
    [[nodiscard]] const prepared_runs& common() const { return environments_.begin()->second.prepared; }
    /// By the folder that the run configs name.
    [[nodiscard]] const std::map<std::filesystem::path, sweep_environment>& environments() const noexcept {
        return environments_;
    }
    [[nodiscard]] const actors::run_deadlines& deadlines() const noexcept { return deadlines_; }
    [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
    /// Of the ledger: what the machine has, or the file's budget where that is less.
    [[nodiscard]] const actors::resources& capacity() const noexcept { return capacity_; }
    /// How many runs the ledger lets in at once, whatever --max-concurrent says.
    [[nodiscard]] std::size_t at_once() const noexcept { return at_once_; }
    /// budget.max_concurrent or --max-concurrent, whichever is less.
    [[nodiscard]] std::optional<std::size_t> max_runs() const noexcept { return max_runs_; }

    /// A run that cannot begin says so in the order. Called by one actor.
    [[nodiscard]] actors::order_ptr order(actors::run_key key, attempt_number attempt);
    [[nodiscard]] journal::cell_described describe(std::uint64_t cell);

  private:
    sweep_site(config::loaded_sweep_file file, const std::filesystem::path& folder, run_options how);
    void plan_admission();
    [[nodiscard]] const sweep_environment* environment_of(const config::run_config& run) const;

    config::sweep_runs runs_;
    run_options how_;
    actors::run_deadlines deadlines_;
    std::map<std::filesystem::path, sweep_environment> environments_;
    std::vector<std::string> notes_;
    actors::resources capacity_;
    std::size_t at_once_ = 1;
    std::optional<std::size_t> max_runs_;
};

/// The host's deadlines of each run, by the sweep's.
[[nodiscard]] actors::run_deadlines deadlines_of(const config::deadline_rules& rules);

} // namespace chalk::cli
