/// How runs look to the user: a board that is drawn over (on a terminal), every run's output (--no-ui), or JSON lines
/// (--json); and at the end what became of the runs and where their files are.
///
/// Owner: the run command. Called by actors from any thread; it only formats and queues.
#pragma once

#include "actors/run/run_order.hpp"
#include "cli/progress/board.hpp"
#include "cli/progress/line_writer.hpp"

#include <chrono>
#include <future>
#include <mutex>
#include <string>
#include <vector>

namespace chalk::cli {

enum class console_mode {
    board,          ///< drawn over, on a terminal
    run_ends,       ///< a line a run
    run_output,     ///< every run's output
    progress_lines, ///< a line every ten seconds, and errors
    json_lines,     ///< every event
    json_ends       ///< a line a run
};

/// One event, as --json prints it.
[[nodiscard]] std::string json_event_line(const actors::run_order& order, const event& e);
/// The end of a run, or of an attempt that another one follows, as --json prints it.
[[nodiscard]] std::string json_finished_line(const actors::run_result& what, std::string_view type = "RunFinished");
/// "hello-3  passed  score 1  out/t_3.json"
[[nodiscard]] std::string result_text(const actors::run_result& what);

class console final : public actors::watcher {
  public:
    /// Of the log lines that pass by, those from `least` on are shown; as JSON all are.
    console(console_mode mode, std::uint64_t runs, log_level least = log_level::debug);

    [[nodiscard]] bool wants_events() const noexcept override;
    void run_began(const actors::run_order& order) override;
    void run_event(const actors::run_order& order, const event_ptr& e) override;
    void run_prepared(const actors::run_order& order) override;
    void run_finished(const actors::run_result& what, const actors::sweep_counts& counts) override;
    void attempt_finished(const actors::run_result& what, const actors::sweep_counts& counts) override;
    void sweep_said(const std::string& text) override;
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
    void draw();
    [[nodiscard]] std::string rewind();
    void clear();
    void keep_for_summary(const actors::run_result& what);
    [[nodiscard]] bool as_json() const noexcept {
        return mode_ == console_mode::json_lines || mode_ == console_mode::json_ends;
    }
    void write_end(const actors::run_result& what, bool retried);

    console_mode mode_;
    log_level least_;
    line_writer out_;
    line_writer err_;
    std::promise<ending> finished_;

    mutable std::mutex mutex_; ///< guards what follows
    board board_;
    std::chrono::steady_clock::time_point drawn_{};
    std::size_t lines_shown_ = 0; ///< on the terminal, to be drawn over
    bool prepared_ = false;
    std::vector<std::string> table_;    ///< the first runs, up to a limit
    std::vector<std::string> troubles_; ///< runs in error beyond the table, up to a limit
    std::size_t not_listed_ = 0;
};

} // namespace chalk::cli
