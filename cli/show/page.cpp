#include "cli/show/page.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cli {

namespace {

std::string text_of(const json& object, const char* key) {
    return object.at(key).get<std::string>();
}

/// Writes one transcript, event by event.
class page_writer {
  public:
    page_writer(const json& document, const page_style& style) : document_(document), style_(style) {}

    std::string operator()() {
        header();
        for (const auto& value : document_.at("events")) {
            if (const auto e = event_from_json(value)) { // the schema was checked: each one parses
                std::visit([&](const auto& body) { add(body); }, e->body);
            }
        }
        ending();
        return std::move(out_);
    }

  private:
    // Cut where a page would be all output; --full shows everything.
    static constexpr std::size_t most_result_lines = 12;
    static constexpr std::size_t most_text_lines = 60;
    static constexpr std::size_t no_limit = static_cast<std::size_t>(-1);

    void line(std::string_view text = {}) {
        out_ += text;
        out_ += '\n';
    }

    void block(std::string_view text, std::size_t indent, std::size_t most_lines, ink colour = ink::plain) {
        const auto lines = wrap(text, style_.width - indent);
        const std::string margin(indent, ' ');
        // A cut that hides one line would take as much room as the line.
        const bool cut = !style_.full && lines.size() > most_lines + 1;
        const auto shown = cut ? most_lines : lines.size();
        for (std::size_t i = 0; i < shown; ++i) {
            line(lines[i].empty() ? std::string{} : margin + paint(style_, colour, lines[i]));
        }
        if (cut) {
            line(margin + paint(style_, ink::dim, fmt::format("... {} more lines (--full)", lines.size() - shown)));
        }
    }

    void field(std::string_view name, std::string_view value) {
        if (value.empty()) {
            return;
        }
        constexpr std::size_t name_width = 13;
        const auto lines = wrap(value, style_.width - name_width);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            const auto left = i == 0 ? fmt::format("{:<{}}", name, name_width) : std::string(name_width, ' ');
            line(paint(style_, ink::dim, left) + lines[i]);
        }
    }

    void rule(std::string_view title) {
        const auto head = fmt::format("--- {} ", wrap_to_one_line(title));
        const auto used = std::min(columns(head), style_.width);
        line();
        line(paint(style_, ink::bold, head + std::string(style_.width - used, '-')));
    }

    [[nodiscard]] std::string wrap_to_one_line(std::string_view text) const {
        auto lines = wrap(text, std::max<std::size_t>(style_.width, 20) - 8);
        return lines.empty() ? std::string{} : lines.front() + (lines.size() > 1 ? "..." : "");
    }

    void header() {
        const auto& run = document_.at("run");
        line(fmt::format("{}  {}  score {}", paint(style_, ink::bold, wrap_to_one_line(text_of(run, "run_id"))),
                         paint(style_, outcome_ink(document_), outcome_text(document_)),
                         score_text(document_.at("score"))));
        field("environment", text_of(run, "environment"));
        field("digest", text_of(run, "environment_digest"));
        field("task", text_of(run, "task"));
        field("agent", text_of(run, "agent"));
        field("model", text_of(run, "model"));
        field("runtime", fmt::format("{}, chalk {}, attempt {}", text_of(run, "runtime"), text_of(run, "chalk_version"),
                                     run.at("attempt").get<std::uint64_t>()));
        if (document_.at("started").is_string()) {
            const auto& took = document_.at("duration_ms");
            field("started", text_of(document_, "started") +
                                 (took.is_null() ? "" : ", took " + duration_text(took.get<std::int64_t>())));
        }
        const auto& usage = document_.at("usage");
        const auto count = [&](const char* key) { return usage.at(key).get<std::uint64_t>(); };
        field("tokens", fmt::format("{} in ({} cached), {} out ({} reasoning)", count("input"), count("cached"),
                                    count("output"), count("reasoning")));
    }

    void ending() {
        rule("outcome");
        line(fmt::format("{}  score {}", paint(style_, outcome_ink(document_), outcome_text(document_)),
                         score_text(document_.at("score"))));
        const auto& end = document_.at("outcome");
        if (end.is_null()) {
            return;
        }
        if (end.at("error").is_object()) {
            block(text_of(end.at("error"), "message"), 2, no_limit - 1);
            block(text_of(end.at("error"), "details"), 2, most_text_lines, ink::dim);
        }
        if (end.at("reason").is_string()) {
            block(text_of(end, "reason"), 2, no_limit - 1);
        }
    }

    void add(const task_started& b) {
        step_count_ = b.step_count;
        field("tools", fmt::format("{}", fmt::join(b.tools, ", ")));
    }

    void add(const task_pre_hook_completed& b) {
        if (!b.metadata.is_null()) {
            field("pre_hook", dump_json(b.metadata));
        }
    }

    void add(const step_started& b) {
        rule(step_count_ > 0 ? fmt::format("step {} of {}: {}", b.index + 1, step_count_, b.name)
                             : fmt::format("step {}: {}", b.index + 1, b.name));
    }

    void add(const message_added& b) {
        std::string title = b.role == message_role::system ? "system"
                            : b.role == message_role::user ? "user"
                                                           : "assistant";
        std::string note;
        if (b.role == message_role::assistant) {
            note = "  " + duration_text(b.duration.count());
            if (b.usage) {
                note += fmt::format(", {} tokens in, {} out", b.usage->input, b.usage->output);
            }
            if (b.stop_reason == "length") {
                note += ", cut off at the output limit";
            }
            if (b.aborted) {
                note += ", aborted: the stream broke";
            }
        }
        line();
        line(paint(style_, ink::cyan, title) + paint(style_, ink::dim, note));
        block(b.reasoning, 4, most_text_lines, ink::dim);
        block(b.text, 2, most_text_lines);
        for (const auto& call : b.tool_calls) {
            line("  " + paint(style_, ink::bold, "> " + wrap_to_one_line(call.name)));
            arguments(call.arguments);
        }
    }

    /// One argument a line; text as it is, so that code reads as code.
    void arguments(const json& values) {
        if (!values.is_object()) {
            block(dump_json(values), 6, most_result_lines);
            return;
        }
        for (const auto& [name, value] : values.items()) {
            const auto shown = value.is_string() ? value.get<std::string>() : dump_json(value);
            if (shown.find('\n') == std::string::npos) {
                block(name + ": " + shown, 6, most_result_lines);
            } else {
                block(name + ":", 6, most_result_lines);
                block(shown, 8, most_result_lines);
            }
        }
    }

    void add(const tool_result& b) {
        const auto state = b.is_error ? paint(style_, ink::red, "error") : paint(style_, ink::green, "ok");
        line("  " + paint(style_, ink::bold, "< " + wrap_to_one_line(b.name)) + "  " + state +
             paint(style_, ink::dim, "  " + duration_text(b.duration.count()) + (b.truncated ? ", output cut" : "")));
        block(b.text, 6, most_result_lines);
    }

    void add(const limit_reached& b) {
        line();
        block("limit reached: " + b.message, 0, most_text_lines, ink::yellow);
    }

    void add(const agent_completed&) {} // the step's own line has its duration

    void add(const artifact_saved& b) {
        line();
        block(fmt::format("saved {} ({})", b.path, size_text(b.size)), 0, most_text_lines, ink::dim);
    }

    void add(const step_scored& b) {
        line();
        line(paint(style_, ink::bold, "score " + score_text(b.score)) +
             (b.student_misbehaved ? paint(style_, ink::red, "  the student misbehaved") : std::string{}) +
             (b.continue_task ? "" : "  the task ends here"));
        block(b.explanation, 2, most_text_lines);
        if (!b.metadata.is_null() && b.metadata != json::object()) {
            block(dump_json(b.metadata), 2, most_result_lines, ink::dim);
        }
    }

    void add(const step_completed& b) {
        line(paint(style_, ink::dim, "step took " + duration_text(b.duration.count())));
    }

    void add(const log_line& b) {
        if (b.level == log_level::debug && !style_.full) {
            return;
        }
        const auto colour = b.level == log_level::error     ? ink::red
                            : b.level == log_level::warning ? ink::yellow
                                                            : ink::dim;
        block(fmt::format("[{}] {}", b.source, b.text), 0, most_result_lines, colour);
    }

    // The outcome at the end says these.
    void add(const task_completed&) {}
    void add(const run_failed&) {}
    void add(const run_cancelled&) {}

    const json& document_;
    const page_style& style_;
    std::string out_;
    std::size_t step_count_ = 0;
};

} // namespace

std::string transcript_page(const json& document, const page_style& style) {
    return page_writer(document, style)();
}

} // namespace chalk::cli
