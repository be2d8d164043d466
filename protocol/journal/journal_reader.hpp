/// Reads a sweep's journal: beside the process that writes it, or after that one died. Never writes.
///
/// All that one reader says is of one moment: that of its opening, or of the last refresh(). While it is open the
/// writer goes on, but its write-ahead file grows: read, and let go.
///
/// Owner: whoever asks; one thread at a time. Every function fails with error_class::harness when the file is damaged,
/// with what can still be done.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/journal/records.hpp"
#include "protocol/journal/run_set.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::journal {

/// The sweep, and what became of it.
struct sweep_row {
    sweep_opened opened;
    std::string chalk_version;        ///< of the chalk that opened it
    std::uint64_t sessions = 0;       ///< processes that have run it
    std::optional<sweep_ended> ended; ///< the last end; absent while it runs, or after it was killed
    std::uint64_t late_results = 0;   ///< evidence kept, of all runs
};

/// One attempt, also an open one.
struct attempt_row {
    attempt_started started;
    std::string chalk_version;          ///< of the chalk that ran it
    std::optional<attempt_ended> ended; ///< `charged` is always there
    spending noted;                     ///< so far, for an open attempt; after the end what `ended` says
    bool counts = false;                ///< its outcome is its run's
};

/// What closed a run.
struct closed_row {
    wall_time at;
    std::optional<attempt_number> counted; ///< whose outcome is the run's
    std::optional<closing> why;            ///< absent: `counted` ended with verdict `counts` or `sealed`
    std::string message;
};

/// One run that was touched: started at least once, or closed.
struct run_row {
    run_number run{0};
    std::optional<closed_row> closed;
    std::vector<attempt_row> attempts; ///< all of them, in order

    /// The one whose outcome is the run's; null where there is none.
    [[nodiscard]] const attempt_row* counted() const noexcept;
};

/// What a resume needs of a run that was touched and is not closed.
struct unfinished_run {
    run_number run{0};
    std::uint32_t charged_attempts = 0; ///< since it was last requeued
    std::uint32_t node_losses = 0;      ///< likewise: verdict `lost` with error_class::node_lost
    std::uint32_t shortages = 0;    ///< likewise: verdict `lost` with another error: its node was short of something
    attempt_number next_attempt{1}; ///< behind all that there ever were
    bool requeued = false;          ///< by hand, and without an outcome since
    bool open = false;              ///< its last attempt has not ended; see open_attempts()
};

/// What the journal has under exactly one run, attempt and token. (What a cluster's result fence asks for under the
/// name of journalled_name.)
enum class assignment_standing {
    absent,   ///< it was never assigned; also without a token, since that is no assignment
    assigned, ///< its start and no result of it: it is open, or was given up. An end with verdict `lost` gives it up,
              ///< and so does one with error_class::node_lost, whatever its verdict: the run's last loss closes it
    taken     ///< its result: any other end
};

/// An attempt that was started and has not ended; `started` names its node and its token.
struct open_attempt {
    attempt_started started;
    spending noted;
};

/// The record by which a resume settles an attempt whose chalk died: verdict `lost`, outcome cancelled, charged with
/// the larger of what it noted and what it had reserved.
[[nodiscard]] attempt_ended settle(const open_attempt& left, wall_time now);

class journal_reader {
  public:
    /// error_class::config: no sweep in `folder`, or a schema that this chalk does not read.
    [[nodiscard]] static result<journal_reader> open(const std::filesystem::path& folder);

    journal_reader(journal_reader&&) noexcept;
    journal_reader& operator=(journal_reader&&) noexcept;
    ~journal_reader();

    /// Moves on to what is in the journal now.
    [[nodiscard]] result<void> refresh();

    /// error_class::config when the journal has no sweep yet: its first batch was never written.
    [[nodiscard]] result<sweep_row> sweep() const;

    /// In the order of their numbers. The visitor returns false to stop.
    [[nodiscard]] result<void> for_each_cell(const std::function<bool(const cell_described&)>& visit) const;

    /// One cell; absent when it was not described.
    [[nodiscard]] result<std::optional<cell_described>> cell(cell_number number) const;

    /// Every run that was touched, in the order of their numbers, one in memory at a time. The visitor returns false to
    /// stop.
    [[nodiscard]] result<void> for_each_run(const std::function<bool(const run_row&)>& visit) const;

    /// One run; absent when it was never touched.
    [[nodiscard]] result<std::optional<run_row>> run(run_number number) const;

    /// For a resume: which runs are closed, which are not and have been touched, in the order of their numbers.
    [[nodiscard]] result<run_set> finished_runs() const;
    [[nodiscard]] result<std::vector<unfinished_run>> unfinished_runs() const;
    [[nodiscard]] result<std::vector<open_attempt>> open_attempts() const;

    /// For a cluster's coordinator that is started again: leases without an end, in the order of their numbers.
    [[nodiscard]] result<std::vector<lease_granted>> open_leases() const;

    /// For a result that a coordinator does not know of itself. As all here it is of the last refresh().
    [[nodiscard]] result<assignment_standing> assignment(run_number run, attempt_number attempt,
                                                         const assignment_token& token) const;

    /// Late results of a run, in the order of their attempts.
    [[nodiscard]] result<std::vector<evidence_kept>> evidence(run_number run) const;

    /// What the budgets have been charged by all attempts that ended, requeued and lost ones among them.
    [[nodiscard]] result<charge> charged() const;

    /// SQLite's own check of the whole file. error_class::harness with what it found.
    [[nodiscard]] result<void> check() const;

  private:
    struct state;
    explicit journal_reader(std::unique_ptr<state> s);
    std::unique_ptr<state> state_;
};

} // namespace chalk::journal
