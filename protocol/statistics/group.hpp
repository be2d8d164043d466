/// The figures of a group of runs, a cell or a whole sweep: what is counted, what is left out, and whether leaving it
/// out biases the figure. Definitions: docs/reference/sweep-results.md.
///
/// Pure. Nothing depends on the order in which runs are added.
#pragma once

#include "protocol/journal/records.hpp"
#include "protocol/statistics/interval.hpp"
#include "protocol/statistics/quantiles.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chalk::statistics {

/// Where a run of the sweep stands.
enum class standing {
    passed,
    failed,
    error,
    cancelled,  ///< by a person, with or without an attempt
    sealed,     ///< cut off by `seal_at`, or not started because of it
    first_pass, ///< not run because another run of its cell had passed
    stopped,    ///< not run because of a breaker, a stop rule, a budget or the sweep's deadline
    unfinished, ///< started, not closed yet
    not_started,
};
inline constexpr std::array<std::string_view, 9> standing_names = {
    "passed", "failed", "error", "cancelled", "sealed", "first_pass", "stopped", "unfinished", "not_started"};

/// One run, as far as it counts.
struct run_standing {
    standing where = standing::not_started;
    std::optional<error_class> kind; ///< of an error
    std::optional<double> score;     ///< of passed and failed ones
    journal::stage_durations took;   ///< of the attempt that counts
};

struct counts {
    std::array<std::uint64_t, standing_names.size()> standings{};
    std::array<std::uint64_t, error_class_names.size()> errors{}; ///< by class; their sum is standings[error]
    std::uint64_t attempts = 0; ///< all that ended, those that count and those that do not
    std::uint64_t retried = 0;
    std::uint64_t lost = 0;

    [[nodiscard]] std::uint64_t of(standing where) const { return standings.at(static_cast<std::size_t>(where)); }
    [[nodiscard]] std::uint64_t total() const noexcept;
    [[nodiscard]] std::uint64_t judged() const { return of(standing::passed) + of(standing::failed); }
};

/// Of all attempts, those that do not count among them.
struct spent_figures {
    token_usage tokens;
    double usd = 0;
    std::uint64_t unpriced_attempts = 0; ///< asked a model without a known price: missing in `usd`
    /// Tokens and dollars that were charged above these, for attempts that were never settled.
    std::uint64_t unsettled_tokens = 0;
    double unsettled_usd = 0;
};

/// One k of pass@k and pass^k.
struct pass_figure {
    std::uint64_t k = 1;
    std::uint64_t cells = 0; ///< with at least k judged runs: the denominator
    double at = 0;           ///< mean of pass@k over them
    double hat = 0;          ///< mean of pass^k over them
};

/// Milliseconds, nearest rank.
struct stage_figure {
    std::uint64_t count = 0; ///< runs that have an attempt that counts and reached the stage
    std::uint64_t p50 = 0;
    std::uint64_t p95 = 0;
};
inline constexpr std::array<std::string_view, 6> stage_names = {"prepare", "setup",    "agent",
                                                                "score",   "teardown", "whole"};

struct group_figures {
    counts runs;
    std::uint64_t cells = 0;  ///< with a run that was touched
    std::uint64_t scored = 0; ///< denominator of `score`
    std::optional<double> score;
    std::optional<interval> score_interval;
    std::optional<double> pass_rate; ///< passed over judged
    std::optional<interval> pass_interval;
    std::vector<pass_figure> pass; ///< only k with a denominator above 0
    spent_figures spent;
    std::array<stage_figure, stage_names.size()> stages{};
    std::vector<std::string> warnings; ///< what biases which figure
};

/// What biases which of `figures`, or makes them less than they seem.
[[nodiscard]] std::vector<std::string> warnings_of(const group_figures& figures, std::uint64_t repeats);

/// Adds up one cell's runs.
class cell_group {
  public:
    void add_run(const run_standing& run);
    /// Every attempt that ended, beside add_run() for its run.
    void add_attempt(const journal::attempt_ended& attempt);
    /// What an attempt that has not ended has spent so far.
    void add_open(const journal::spending& noted);
    /// What the sweep holds and nobody touched.
    void add_not_started(std::uint64_t runs);

    [[nodiscard]] group_figures figures(std::uint64_t repeats) const;
    [[nodiscard]] const moments& scores() const noexcept { return scores_; }
    [[nodiscard]] const counts& so_far() const noexcept { return counts_; }

  private:
    friend class sweep_group;

    void add(const cell_group& other);
    void add(const journal::spending& spent);
    [[nodiscard]] std::vector<pass_figure> passes(std::uint64_t repeats) const;
    [[nodiscard]] group_figures plain_figures() const;

    counts counts_;
    moments scores_;
    token_usage tokens_;
    exact_number usd_;
    std::uint64_t unpriced_ = 0;
    std::uint64_t unsettled_tokens_ = 0;
    exact_number unsettled_usd_;
    std::array<quantiles, stage_names.size()> stages_;
};

/// Adds up cells.
class sweep_group {
  public:
    explicit sweep_group(std::uint64_t repeats);

    void add_cell(const cell_group& cell);
    /// Of cells that were never touched.
    void add_not_started(std::uint64_t runs) { all_.add_not_started(runs); }

    [[nodiscard]] group_figures figures() const;

  private:
    struct pass_sums {
        std::uint64_t k = 1;
        std::uint64_t cells = 0;
        exact_number at;
        exact_number hat;
    };

    std::uint64_t repeats_;
    std::uint64_t cells_ = 0;
    cell_group all_;
    clustered_mean scores_;
    clustered_mean passes_;
    std::vector<pass_sums> pass_;
};

} // namespace chalk::statistics
