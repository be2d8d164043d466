#include "protocol/transcript/transcript.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/overloaded.hpp"

#include <algorithm>
#include <map>

namespace chalk {

namespace {

/// What the events so far say of one step.
struct step_record {
    std::string name;
    std::string instructions;
    std::optional<step_scored> scored;
    std::optional<milliseconds> duration;
    std::size_t turns = 0;
    std::size_t tool_calls = 0;
    json artifacts = json::array();
};

struct fold {
    std::map<std::size_t, step_record> steps; // by index: events may speak of a step that no event started
    std::size_t current_step = 0;
    std::size_t step_count = 0; ///< of the task, as it said when it started
    std::string task;
    token_usage usage;
    std::optional<outcome> end;
    std::string details;
    std::optional<wall_time> started;
    std::optional<wall_time> ended;

    void add(const event& e) {
        if (!started) {
            started = e.time;
        }
        std::visit(overloaded{
                       [&](const task_started& b) {
                           step_count = b.step_count;
                           task = b.task;
                       },
                       [&](const step_started& b) {
                           current_step = b.index;
                           steps[b.index].name = b.name;
                           steps[b.index].instructions = b.instructions;
                       },
                       [&](const message_added& b) { add_message(b); },
                       [&](const artifact_saved& b) {
                           steps[b.step].artifacts.push_back({{"path", to_valid_utf8(b.path)}, {"size", b.size}});
                       },
                       [&](const step_scored& b) { steps[b.step].scored = b; },
                       [&](const step_completed& b) { steps[b.index].duration = b.duration; },
                       [&](const run_failed& b) { details = b.details; },
                       [](const auto&) {}, // a part of the events alone
                   },
                   e.body);
        if (auto final = outcome_of(e.body)) {
            end = std::move(final);
            ended = e.time;
        }
    }

    void add_message(const message_added& message) {
        if (message.usage) {
            usage.input += message.usage->input;
            usage.cached += message.usage->cached;
            usage.output += message.usage->output;
            usage.reasoning += message.usage->reasoning;
        }
        if (message.role == message_role::assistant && !message.aborted) {
            auto& step = steps[current_step];
            step.turns += 1;
            step.tool_calls += message.tool_calls.size();
        }
    }

    [[nodiscard]] std::optional<double> score() const {
        if (end && (end->status == outcome_status::error || end->status == outcome_status::cancelled)) {
            return std::nullopt;
        }
        double sum = 0;
        std::size_t scored = 0;
        for (const auto& [index, step] : steps) {
            if (step.scored) {
                sum += step.scored->score;
                ++scored;
            }
        }
        if (scored == 0) {
            return std::nullopt;
        }
        return sum / static_cast<double>(std::max(step_count, steps.size()));
    }
};

fold fold_of(const std::vector<event_ptr>& events) {
    fold folded;
    for (const auto& e : events) {
        folded.add(*e);
    }
    return folded;
}

json step_json(std::size_t index, const step_record& step) {
    json out = {
        {"index", index},      {"name", to_valid_utf8(step.name)}, {"instructions", to_valid_utf8(step.instructions)},
        {"score", nullptr},    {"continue_task", nullptr},         {"explanation", nullptr},
        {"metadata", nullptr}, {"student_misbehaved", false},      {"duration_ms", nullptr},
        {"turns", step.turns}, {"tool_calls", step.tool_calls},    {"artifacts", step.artifacts}};
    if (step.scored) {
        out["score"] = step.scored->score;
        out["continue_task"] = step.scored->continue_task;
        out["explanation"] = to_valid_utf8(step.scored->explanation);
        out["metadata"] = step.scored->metadata;
        out["student_misbehaved"] = step.scored->student_misbehaved;
    }
    if (step.duration) {
        out["duration_ms"] = step.duration->count();
    }
    return out;
}

json outcome_json(const outcome& end, const std::string& details) {
    json out = {{"status", to_string(end.status)}, {"error", nullptr}, {"reason", nullptr}};
    if (end.status == outcome_status::error) {
        out["error"] = {{"class", to_string(end.kind.value_or(error_class::harness))},
                        {"message", to_valid_utf8(end.message)},
                        {"details", to_valid_utf8(details)}};
    } else if (end.status == outcome_status::cancelled) {
        out["reason"] = to_valid_utf8(end.message);
    }
    return out;
}

json header_json(const transcript_header& header, const std::string& started_task) {
    return {{"run_id", header.run_id},
            {"attempt", header.attempt},
            {"environment", to_valid_utf8(header.environment)},
            {"environment_digest", header.environment_digest},
            // The config may leave the task out; the environment then said which one it is.
            {"task", to_valid_utf8(header.task.empty() ? started_task : header.task)},
            {"agent", header.agent},
            {"model", to_valid_utf8(header.model)},
            {"runtime", header.runtime},
            {"chalk_version", header.chalk_version},
            {"config", header.config}};
}

} // namespace

transcript_builder::transcript_builder(transcript_header header) : header_(std::move(header)) {}

void transcript_builder::add(const event_ptr& e) {
    events_.push_back(e);
}

std::optional<double> transcript_builder::score() const {
    return fold_of(events_).score();
}

json transcript_builder::document() const {
    const auto folded = fold_of(events_);
    const auto score = folded.score();

    json steps = json::array();
    for (const auto& [index, step] : folded.steps) {
        steps.push_back(step_json(index, step));
    }
    json events = json::array();
    for (const auto& e : events_) {
        events.push_back(to_json(*e));
    }
    json duration;
    if (folded.started && folded.ended) {
        const auto elapsed = std::chrono::duration_cast<milliseconds>(*folded.ended - *folded.started);
        duration = std::max(elapsed, milliseconds{0}).count(); // a clock may have been set back
    }
    return {{"format", "chalk-transcript"},
            {"version", 1},
            {"run", header_json(header_, folded.task)},
            {"outcome", folded.end ? outcome_json(*folded.end, folded.details) : json()},
            {"score", score ? json(*score) : json()},
            {"steps", std::move(steps)},
            {"usage",
             {{"input", folded.usage.input},
              {"cached", folded.usage.cached},
              {"output", folded.usage.output},
              {"reasoning", folded.usage.reasoning}}},
            {"started", folded.started ? json(format_time(*folded.started)) : json()},
            {"ended", folded.ended ? json(format_time(*folded.ended)) : json()},
            {"duration_ms", std::move(duration)},
            {"events", std::move(events)}};
}

} // namespace chalk
