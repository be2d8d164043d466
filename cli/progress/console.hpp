/// How a sweep looks to the user: a status line that is drawn over (on a terminal), every run's output (--no-ui), or
/// events as JSON lines (--json); and at the end what became of the runs and where their files are.
///
/// Owner: the run command. Called by actors from any thread; it only formats and queues.
#pragma once

#include "actors/run/run_order.hpp"
#include "cli/progress/line_writer.hpp"

#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace chalk::cli {

enum class console_mode { status_line, run_ends, run_output, json_lines };

/// One event, as --json prints it.
[[nodiscard]] std::string json_event_line(const actors::run_order& order, const event& e);
/// A run's end, as --json prints it.
[[nodiscard]] std::string json_finished_line(const actors::run_result& what);
/// "12 of 50 done · 5 running · 10 passed · 1 failed · 1 errors · mean score 0.91 · 0:42"
[[nodiscard]] std::string status_text(const actors::sweep_counts& counts, std::size_t running, seconds elapsed);
/// "hello-3  passed  score 1  out/t_3.json"
[[nodiscard]] std::string result_text(const actors::run_result& what);

class console final : public actors::watcher {
  public:
    explicit console(console_mode mode, std::size_t runs);

    [[nodiscard]] bool wants_events() const noexcept override;
    void run_began(const actors::run_order& order) override;
    void run_event(const actors::run_order& order, const event_ptr& e) override;
    void run_prepared(const actors::run_order& order) override;
    void run_finished(const actors::run_result& what, const actors::sweep_counts& counts) override;
    void sweep_finished(const actors::sweep_counts& counts, const std::optional<failure>& trouble) override;

    /// A message of the command's own, on stderr.
    void say(const std::string& text);

    struct ending {
        actors::sweep_counts counts;
        std::optional<failure> trouble;
    };
    /// Ready when the sweep is over. Once.
    [[nodiscard]] std::future<ending> finished() { return finished_.get_future(); }
    /// Prints what became of the runs. After `finished`.
    void print_summary(const ending& how);
    /// Some run became ready under --prepare-only.
    [[nodiscard]] bool was_prepared() const;

  private:
    void draw_status();
    void clear_status();

    console_mode mode_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    line_writer out_;
    line_writer err_;
    std::promise<ending> finished_;

    mutable std::mutex mutex_; ///< guards what follows
    actors::sweep_counts counts_;
    std::size_t running_ = 0;
    std::chrono::steady_clock::time_point drawn_{};
    bool status_shown_ = false;
    bool prepared_ = false;
    std::vector<std::string> table_;    ///< the first runs, up to a limit
    std::vector<std::string> troubles_; ///< runs in error beyond the table, up to a limit
    std::size_t not_listed_ = 0;
};

} // namespace chalk::cli
