#include "cli/progress/console.hpp"

#include "actors/run/artifact_folders.hpp"
#include "cli/progress/event_text.hpp"

#include <fmt/format.h>

#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

namespace chalk::cli {

using actors::run_order;
using actors::run_result;
using actors::sweep_counts;

namespace {

// What a reader may lag behind before lines are left out.
constexpr std::size_t most_queued = std::size_t{64} << 20U;
constexpr std::size_t most_table_rows = 50;
constexpr std::size_t most_troubles = 20;
constexpr std::chrono::milliseconds redraw_every{100};
constexpr std::chrono::seconds line_every{10};

std::string lost_text(std::uint64_t count) {
    return fmt::format("[{} lines left out: the terminal does not keep up]", count);
}
std::string lost_json(std::uint64_t count) {
    return json{{"type", "LinesLeftOut"}, {"count", count}}.dump();
}

std::string dump(const json& value) {
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

} // namespace

std::string json_event_line(const run_order& order, const event& e) {
    return fmt::format(R"({{"run_id":{},"attempt":{},"event":{}}})", dump(order.config.id.str()),
                       static_cast<std::uint32_t>(order.attempt), to_line(e));
}

std::string json_finished_line(const run_result& what, std::string_view type) {
    const auto& config = what.order->config;
    const bool artifacts = actors::has_artifacts(what.order->artifacts_folder);
    json line = {{"type", type},
                 {"run_id", config.id.str()},
                 {"attempt", static_cast<std::uint32_t>(what.order->attempt)},
                 {"status", to_string(what.how.status)},
                 {"score", what.score ? json(*what.score) : json(nullptr)},
                 {"transcript", what.has_transcript ? json(config.transcript_file.string()) : json(nullptr)},
                 {"artifacts", artifacts ? json(what.order->artifacts_folder.string()) : json(nullptr)}};
    if (what.how.kind) {
        line["error"] = {{"class", to_string(*what.how.kind)}, {"message", what.how.message}};
    } else if (!what.how.message.empty()) {
        line["reason"] = what.how.message;
    }
    if (!what.remark.empty()) {
        line["remark"] = what.remark;
    }
    return dump(line);
}

std::string result_text(const run_result& what) {
    std::string status(to_string(what.how.status));
    if (what.how.kind) {
        status += fmt::format(" ({})", to_string(*what.how.kind));
    }
    std::string text = fmt::format("{}  {}", what.order->config.id.str(), status);
    if (what.score) {
        text += fmt::format("  score {:.4g}", *what.score);
    }
    if (what.has_transcript) {
        text += "  " + what.order->config.transcript_file.string();
        if (actors::has_artifacts(what.order->artifacts_folder)) {
            text += "  artifacts in " + what.order->artifacts_folder.string();
        }
    }
    if (what.how.status == outcome_status::error) {
        text += "\n    " + printable(what.how.message);
    }
    if (!what.remark.empty()) {
        text += "\n    " + printable(what.remark);
    }
    return text;
}

console::console(console_mode mode, std::uint64_t runs, log_level least)
    : mode_(mode), least_(least), out_(STDOUT_FILENO, most_queued, as_json() ? lost_json : lost_text),
      err_(STDERR_FILENO, most_queued, lost_text), board_(runs, std::chrono::steady_clock::now()) {}

bool console::wants_events() const noexcept {
    return mode_ == console_mode::run_output || mode_ == console_mode::json_lines;
}

void console::run_began(const run_order& order) {
    const std::lock_guard lock(mutex_);
    board_.began(order, std::chrono::steady_clock::now());
    draw();
}

void console::run_event(const run_order& order, const event_ptr& e) {
    if (mode_ == console_mode::json_lines) {
        out_.write(json_event_line(order, *e));
        return;
    }
    for (const auto& line : event_text(*e, least_)) {
        out_.write(fmt::format("[{}] {}", order.config.id.str(), line));
    }
}

void console::run_prepared(const run_order& order) {
    const std::lock_guard lock(mutex_);
    prepared_ = true;
    clear();
    err_.write(fmt::format("{} is prepared and waits: /tmp/chalk_prepared_{} exists inside. Ctrl-C ends it.",
                           order.config.id.str(), order.config.id.str()));
}

void console::write_end(const run_result& what, bool retried) {
    const bool each = mode_ == console_mode::run_ends || mode_ == console_mode::run_output;
    const bool error = mode_ == console_mode::progress_lines && what.how.status == outcome_status::error;
    if (each || error) {
        err_.write(result_text(what) + (retried ? "\n    it is tried again" : ""));
    }
}

void console::run_finished(const run_result& what, const sweep_counts& counts) {
    if (as_json()) {
        out_.write(json_finished_line(what));
    }
    const std::lock_guard lock(mutex_);
    board_.ended(what, counts, false, std::chrono::steady_clock::now());
    write_end(what, false);
    if (mode_ == console_mode::board) {
        keep_for_summary(what);
    }
    draw();
}

void console::keep_for_summary(const run_result& what) {
    if (table_.size() < most_table_rows) {
        table_.push_back(result_text(what));
    } else if (what.how.status == outcome_status::error && troubles_.size() < most_troubles) {
        troubles_.push_back(result_text(what));
    } else {
        ++not_listed_;
    }
}

void console::attempt_finished(const run_result& what, const sweep_counts& counts) {
    if (as_json()) {
        out_.write(json_finished_line(what, "AttemptFinished"));
    }
    const std::lock_guard lock(mutex_);
    board_.ended(what, counts, true, std::chrono::steady_clock::now());
    write_end(what, true);
    draw();
}

void console::sweep_said(const std::string& text) {
    if (as_json()) {
        out_.write(dump({{"type", "SweepNotice"}, {"text", text}}));
    }
    say("chalk: " + text);
}

void console::sweep_finished(const sweep_counts& counts, const std::optional<failure>& trouble) {
    {
        const std::lock_guard lock(mutex_);
        clear();
    }
    finished_.set_value({counts, trouble});
}

void console::say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    clear();
    err_.write(text);
}

void console::draw() {
    const auto now = std::chrono::steady_clock::now();
    if (mode_ == console_mode::progress_lines && now - drawn_ >= line_every) {
        drawn_ = now;
        err_.write(board_.status_line(now));
    }
    if (mode_ != console_mode::board || now - drawn_ < redraw_every) {
        return;
    }
    drawn_ = now;
    winsize size{};
    const bool known = ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0;
    const auto lines = board_.lines(known ? size.ws_col : 80, known ? size.ws_row - 1 : 23, now);
    std::string text = rewind();
    for (const auto& line : lines) {
        text += line + "\x1b[K\n";
    }
    lines_shown_ = lines.size();
    err_.write_raw(text);
}

/// Back to where the board begins, with all of it wiped.
std::string console::rewind() {
    const std::size_t shown = std::exchange(lines_shown_, 0);
    return shown == 0 ? std::string{} : fmt::format("\x1b[{}F\x1b[J", shown);
}

void console::clear() {
    if (lines_shown_ > 0) {
        err_.write_raw(rewind());
    }
}

void console::print_summary(const ending& how) {
    const std::lock_guard lock(mutex_);
    clear();
    for (const auto* rows : {&table_, &troubles_}) {
        for (const auto& row : *rows) {
            err_.write(row);
        }
    }
    if (not_listed_ > 0) {
        err_.write(fmt::format("and {} more; their transcripts lie beside these", not_listed_));
    }
    err_.write(board_.summary(how.counts, std::chrono::steady_clock::now()));
    if (how.trouble) {
        err_.write("chalk: " + how.trouble->message);
    }
}

bool console::was_prepared() const {
    const std::lock_guard lock(mutex_);
    return prepared_;
}

} // namespace chalk::cli
