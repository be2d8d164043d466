/// Which run of a sweep starts next, and what an ended attempt means for its run, its cell and the sweep: cells times
/// repeats, handed out lazily, with retries, breakers and stop rules. Pure; time is handed in. Keeps nothing of a cell
/// whose runs have all ended, so ten million cells cost no more than those that are open.
///
/// Fair over cells: of the open cells the one with the fewest runs out is next, so a cell whose runs hang or fail holds
/// its share of the slots and no more. A retry waits for its backoff and then behind all fresh work.
///
/// Owner: the sweep actor.
#pragma once

#include "actors/supervision/restart_policy.hpp"
#include "config/sweep/sweep_file.hpp"
#include "protocol/core/outcome.hpp"

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace chalk::actors {

/// One run of the sweep: repeat `index` of cell number `cell`; both count from 0.
struct run_key {
    std::uint64_t cell = 0;
    std::uint64_t index = 0;
    friend auto operator<=>(const run_key&, const run_key&) = default;
};

/// The rules of a sweep file that a schedule keeps.
struct schedule_rules {
    std::uint64_t repeats = 1;
    config::retry_rules retry = {.max_attempts = 1};
    config::stop_rules stop;
    config::breaker_rules breaker;
    /// Once this share of all runs has ended and nothing waits to be started, those still out are to be cut off.
    std::optional<double> seal_at;
    /// A run that is cancelled, or not started when the sweep is stopped, has that as its outcome (`chalk run`). Else
    /// it has none, and a resume runs it.
    bool cancelled_counts = false;
    /// Attempts of a run that charge nothing because their node was short of something; those after them are charged.
    std::uint32_t max_shortages = 3;
    std::size_t open_cells = 1024; ///< cells that share the slots; the next one opens when one has started all its runs
};

struct sweep_counts {
    std::uint64_t total = 0;
    std::uint64_t out = 0; ///< handed to a node, not ended
    std::uint64_t passed = 0;
    std::uint64_t failed = 0;
    std::uint64_t errors = 0;
    std::uint64_t cancelled = 0;
    std::uint64_t skipped = 0; ///< will not run: their cell has passed (first_pass) or broke
    std::uint64_t broken = 0;  ///< of those skipped: their cell's breaker opened. A later resume runs them
    std::uint64_t retries = 0; ///< attempts that were made again
    std::array<std::uint64_t, error_class_names.size()> errors_by_class{};
    double score_sum = 0; ///< over `scored` runs
    std::uint64_t scored = 0;

    [[nodiscard]] std::uint64_t ended() const noexcept { return passed + failed + errors + cancelled; }
    /// Waiting retries among them.
    [[nodiscard]] std::uint64_t not_started() const noexcept { return total - ended() - out - skipped; }
    [[nodiscard]] std::optional<double> mean_score() const noexcept {
        return scored == 0 ? std::nullopt : std::optional<double>(score_sum / static_cast<double>(scored));
    }
};

/// What an earlier chalk has done of this sweep.
struct resumed_run {
    std::uint32_t attempts = 0; ///< that were charged
    std::uint32_t last_attempt = 0;
    std::uint32_t node_losses = 0;
    std::uint32_t shortages = 0; ///< attempts that were not charged because their node was short of something
    bool requeued = false;       ///< by hand: runs although its cell has passed
    bool alive = false;          ///< its last attempt may still run on a node, and is out from the start
};

struct resume_state {
    /// True for runs that have their outcome. Null: none has.
    std::function<bool(run_key)> closed;
    std::map<run_key, resumed_run> open;  ///< runs that were started and have none
    std::set<std::uint64_t> passed_cells; ///< for first_pass
    sweep_counts counted;                 ///< of the closed runs
};

class schedule {
  public:
    using clock = std::chrono::steady_clock;
    /// The first cell number at or after its argument that belongs to the sweep; nullopt: no more.
    using cell_source = std::function<std::optional<std::uint64_t>(std::uint64_t)>;

    /// A run whose node was lost this often is not tried again.
    static constexpr std::uint32_t max_node_losses = 3;

    /// `cells` is how many `source` has.
    schedule(std::uint64_t cells, cell_source source, schedule_rules rules, resume_state before = {});

    struct assignment {
        run_key run;
        std::uint32_t attempt = 1;
        friend bool operator==(const assignment&, const assignment&) = default;
    };
    /// The next attempt to start; nullopt: nothing, or nothing before `next_retry`.
    [[nodiscard]] std::optional<assignment> next(clock::time_point now);
    /// Gives an assignment back that was not started: it comes again, as if it had not been handed out. `used`: its
    /// number is taken (the journal has it), the next one is the attempt's.
    void put_back(const assignment& what, bool used = false);
    /// When a waiting retry is due.
    [[nodiscard]] std::optional<clock::time_point> next_retry() const;

    enum class verdict {
        counts,   ///< the run's one outcome
        retried,  ///< it is run again, this attempt was charged
        forgiven, ///< it is run again, and this attempt was not charged: its node was short of something
        returned, ///< it has no outcome and no attempt was charged: a later resume runs it
        unknown   ///< was not out: a second report, which changes nothing
    };
    /// A run out under seal_at (`sealed`) counts, whatever it is. `node_was_short`: of disk, inodes, descriptors or
    /// processes when the attempt ended, so that an error that may come of it says nothing of the run. As with a lost
    /// node it is run again whatever the retry rules say, uncharged, and no breaker hears of it: max_shortages times.
    [[nodiscard]] verdict finished(run_key run, const outcome& how, std::optional<double> score, clock::time_point now,
                                   bool node_was_short = false);

    enum class after_loss { again, give_up, unknown };
    /// The node that had `run` was lost: it is handed out again without charge, or ends as node_lost.
    [[nodiscard]] after_loss lost(run_key run, clock::time_point now);

    /// A run that has its outcome is to be run once more: its outcome is taken back with `how` and `score` that were
    /// counted; without them it was skipped. False when it is out or waits already.
    bool requeue(run_key run, std::uint32_t last_attempt, const std::optional<outcome>& how,
                 std::optional<double> score);

    /// Nothing more is handed out. `why` is kept for `stopped()`; the first reason stays.
    void stop(std::string why);
    [[nodiscard]] const std::optional<std::string>& stopped() const noexcept { return stopped_; }

    /// True when those still out are stragglers to be cut off (seal_at).
    [[nodiscard]] bool sealed() const noexcept;
    /// Nothing is out and nothing will be.
    [[nodiscard]] bool complete() const noexcept;
    [[nodiscard]] const sweep_counts& counts() const noexcept { return counts_; }
    /// Runs that will not run because another one of their cell passed (first_pass), each of them once, at most so many
    /// at a time. What was skipped by an earlier chalk is not among them.
    [[nodiscard]] std::vector<run_key> take_passed_over(std::size_t most);
    [[nodiscard]] bool has_passed_over() const noexcept { return !passed_over_.empty(); }
    /// True once after cells were closed: what of them was handed out and has not begun should be put back.
    [[nodiscard]] bool take_closed() noexcept { return std::exchange(closed_some_, false); }
    /// Decisions since the last call that a user should hear of, e.g. that a cell's breaker opened.
    [[nodiscard]] std::vector<std::string> take_notices();

  private:
    struct cell {
        std::uint64_t next_repeat = 0;
        std::uint64_t out = 0;
        std::uint64_t waiting_retries = 0;
        bool closed = false; ///< starts nothing more
        bool broken = false; ///< closed by its breaker
        std::optional<restart_policy> breaker;
    };
    struct retry {
        run_key run;
        std::uint32_t charged = 0;
        std::uint32_t attempt = 0; ///< the next one's number
        std::uint32_t losses = 0;
        std::uint32_t shortages = 0;
        bool requeued = false; ///< by hand: runs although its cell is closed
    };
    struct out_run {
        std::uint32_t charged = 0; ///< this attempt among them
        std::uint32_t attempt = 1;
        std::uint32_t losses = 0;
        std::uint32_t shortages = 0;
        bool requeued = false;
    };
    struct run_range { ///< repeats `from` to before `to`: a cell may have a thousand million
        std::uint64_t cell = 0;
        std::uint64_t from = 0;
        std::uint64_t to = 0;
    };
    using fresh_key = std::pair<std::uint64_t, std::uint64_t>; ///< runs out, cell number

    void open_cells();
    bool skip_closed(std::uint64_t number, cell& c);
    void file_cell(std::uint64_t number);
    void change_out(std::uint64_t number, int by);
    void drop_if_done(std::uint64_t number);
    void close_cell(std::uint64_t number, bool broken);
    void skip(run_key run, bool broken);
    void wait_for_retry(retry what, clock::time_point due);
    void count(const outcome& how, std::optional<double> score, int by);
    void apply_stop_rules(run_key run, const outcome& how);
    [[nodiscard]] bool forgives(const out_run& was, const outcome& how) const;
    [[nodiscard]] milliseconds backoff(std::uint32_t failures) const;
    void note_error(run_key run, clock::time_point now);
    [[nodiscard]] std::optional<assignment> next_fresh();

    cell_source source_;
    schedule_rules rules_;
    resume_state before_;
    std::uint64_t next_cell_ = 0; ///< the first number that was not opened
    bool all_opened_ = false;
    std::map<std::uint64_t, cell> open_;
    std::set<fresh_key> fresh_; ///< open cells that have runs to start
    std::map<run_key, out_run> out_;
    std::multimap<clock::time_point, retry> retries_;
    std::optional<restart_policy> breaker_; ///< of the sweep
    std::optional<std::string> stopped_;
    bool closed_some_ = false;
    std::vector<std::string> notices_;
    std::deque<run_range> passed_over_;
    sweep_counts counts_;
};

/// Runs that are out when so many are to be alive at once: some wait at the node, so that none of its slots is empty
/// while the next start is being journalled.
[[nodiscard]] std::size_t with_slack(std::size_t at_once);

/// `chalk run -n N`: one cell, no retries, and a run that is cancelled has ended.
[[nodiscard]] schedule one_cell(std::uint64_t runs);

} // namespace chalk::actors
