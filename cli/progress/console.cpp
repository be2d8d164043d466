#include "cli/progress/console.hpp"

#include "cli/progress/event_text.hpp"

#include <fmt/format.h>

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

std::string json_finished_line(const run_result& what) {
    const auto& config = what.order->config;
    std::error_code ec; // a folder that cannot be looked at is not named
    const bool artifacts = std::filesystem::exists(what.order->artifacts_folder, ec);
    json line = {{"type", "RunFinished"},
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

std::string status_text(const sweep_counts& counts, std::size_t running, seconds elapsed) {
    const auto score = counts.mean_score();
    return fmt::format("{} of {} done, {} running, {} passed, {} failed, {} errors{}{}, {}:{:02}", counts.ended(),
                       counts.total, running, counts.passed, counts.failed, counts.errors,
                       counts.cancelled == 0 ? "" : fmt::format(", {} cancelled", counts.cancelled),
                       score ? fmt::format(", mean score {:.4g}", *score) : "", elapsed.count() / 60,
                       elapsed.count() % 60);
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
        std::error_code ec;
        if (std::filesystem::exists(what.order->artifacts_folder, ec)) {
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

console::console(console_mode mode, std::size_t runs)
    : mode_(mode), out_(STDOUT_FILENO, most_queued, mode == console_mode::json_lines ? lost_json : lost_text),
      err_(STDERR_FILENO, most_queued, lost_text) {
    counts_.total = runs;
}

bool console::wants_events() const noexcept {
    return mode_ == console_mode::run_output || mode_ == console_mode::json_lines;
}

void console::run_began(const run_order&) {
    const std::lock_guard lock(mutex_);
    ++running_;
    draw_status();
}

void console::run_event(const run_order& order, const event_ptr& e) {
    if (mode_ == console_mode::json_lines) {
        out_.write(json_event_line(order, *e));
        return;
    }
    for (const auto& line : event_text(*e)) {
        out_.write(fmt::format("[{}] {}", order.config.id.str(), line));
    }
}

void console::run_prepared(const run_order& order) {
    const std::lock_guard lock(mutex_);
    prepared_ = true;
    clear_status();
    err_.write(fmt::format("{} is prepared and waits: /tmp/chalk_prepared_{} exists inside. Ctrl-C ends it.",
                           order.config.id.str(), order.config.id.str()));
}

void console::run_finished(const run_result& what, const sweep_counts& counts) {
    if (mode_ == console_mode::json_lines) {
        out_.write(json_finished_line(what));
    }
    std::string text = result_text(what);
    const std::lock_guard lock(mutex_);
    counts_ = counts;
    running_ -= running_ > 0 && what.duration ? 1 : 0;
    if (mode_ == console_mode::run_ends || mode_ == console_mode::run_output) {
        err_.write(text);
    }
    if (table_.size() < most_table_rows) {
        table_.push_back(std::move(text));
    } else if (what.how.status == outcome_status::error && troubles_.size() < most_troubles) {
        troubles_.push_back(std::move(text));
    } else {
        ++not_listed_;
    }
    draw_status();
}

void console::sweep_finished(const sweep_counts& counts, const std::optional<failure>& trouble) {
    {
        const std::lock_guard lock(mutex_);
        counts_ = counts;
        clear_status();
    }
    finished_.set_value({counts, trouble});
}

void console::say(const std::string& text) {
    const std::lock_guard lock(mutex_);
    clear_status();
    err_.write(text);
}

void console::draw_status() {
    if (mode_ != console_mode::status_line) {
        return;
    }
    const auto now = std::chrono::steady_clock::now();
    if (now - drawn_ < redraw_every && counts_.ended() < counts_.total) {
        return;
    }
    drawn_ = now;
    status_shown_ = true;
    err_.write_raw("\r\x1b[K" + status_text(counts_, running_, std::chrono::duration_cast<seconds>(now - start_)));
}

void console::clear_status() {
    if (status_shown_) {
        status_shown_ = false;
        err_.write_raw("\r\x1b[K");
    }
}

void console::print_summary(const ending& how) {
    const std::lock_guard lock(mutex_);
    if (mode_ == console_mode::status_line) {
        for (const auto& row : table_) {
            err_.write(row);
        }
        for (const auto& row : troubles_) {
            err_.write(row);
        }
        if (not_listed_ > 0) {
            err_.write(fmt::format("and {} more; their transcripts lie beside these", not_listed_));
        }
    }
    const auto elapsed = std::chrono::duration_cast<seconds>(std::chrono::steady_clock::now() - start_);
    err_.write(status_text(how.counts, 0, elapsed));
    if (how.trouble) {
        err_.write("chalk: " + how.trouble->message);
    }
}

bool console::was_prepared() const {
    const std::lock_guard lock(mutex_);
    return prepared_;
}

} // namespace chalk::cli
