#include "cli/sweep/export_row.hpp"

#include "cli/sweep/values.hpp"
#include "protocol/statistics/sweep_figures.hpp"

namespace chalk::cli {

namespace {

json span(const std::optional<milliseconds>& took) {
    return took ? json(took->count()) : json(nullptr);
}

/// JSON that the journal keeps as text.
json value_of(const std::string& text) {
    auto value = parse_json(text);
    return value ? std::move(*value) : json(nullptr);
}

json scores_of(const std::vector<std::optional<double>>& scores) {
    json list = json::array();
    for (const auto& score : scores) {
        list.push_back(or_null(score));
    }
    return list;
}

void add_run(exported_row& row, const journal::sweep_row& sweep, const journal::cell_described& cell,
             const journal::run_row& run) {
    const auto number = static_cast<std::uint64_t>(run.run);
    const auto standing = statistics::standing_of(run).where;
    row.emplace_back("run", number);
    row.emplace_back("cell", static_cast<std::uint64_t>(cell.number));
    row.emplace_back("cell_id", text_or_null(cell.id));
    row.emplace_back("label", text_or_null(cell.label));
    row.emplace_back("values", cell.values.empty() ? json(nullptr) : value_of(cell.values));
    row.emplace_back("repeat", number % sweep.opened.repeats);
    row.emplace_back("standing", std::string(statistics::standing_names.at(static_cast<std::size_t>(standing))));
    const bool closed_why = run.closed && run.closed->why;
    row.emplace_back("closed_why", closed_why ? json(std::string(to_string(*run.closed->why))) : json(nullptr));
    row.emplace_back("closed_message", closed_why ? json(run.closed->message) : json(nullptr));
    row.emplace_back("attempts", run.attempts.size());
}

void add_start(exported_row& row, const journal::attempt_row* a) {
    const auto* s = a == nullptr ? nullptr : &a->started;
    row.emplace_back("attempt", s == nullptr ? json(nullptr) : json(static_cast<std::uint32_t>(s->attempt)));
    row.emplace_back("counts", a != nullptr && a->counts);
    row.emplace_back("run_id", s == nullptr ? json(nullptr) : json(s->id.str()));
    row.emplace_back("node", s == nullptr ? json(nullptr) : json(s->node));
    row.emplace_back("seed", s == nullptr ? json(nullptr) : json(s->seed));
    row.emplace_back("started", s == nullptr ? json(nullptr) : json(format_time(s->at)));
}

void add_end(exported_row& row, const journal::attempt_row* a) {
    const auto* e = a == nullptr || !a->ended ? nullptr : &*a->ended;
    const auto of_end = [&](auto value) { return e == nullptr ? json(nullptr) : value(*e); };
    using end = journal::attempt_ended;
    row.emplace_back("ended", of_end([](const end& x) { return json(format_time(x.at)); }));
    row.emplace_back("verdict", of_end([](const end& x) { return json(std::string(to_string(x.means))); }));
    row.emplace_back("status", of_end([](const end& x) { return json(std::string(to_string(x.how.status))); }));
    row.emplace_back("error_class", of_end([](const end& x) {
                         return x.how.kind ? json(std::string(to_string(*x.how.kind))) : json(nullptr);
                     }));
    row.emplace_back("message", of_end([](const end& x) { return text_or_null(x.how.message); }));
    row.emplace_back("score", of_end([](const end& x) { return or_null(x.score); }));
    row.emplace_back("step_scores", of_end([](const end& x) { return scores_of(x.step_scores); }));
    row.emplace_back("prepare_ms", of_end([](const end& x) { return span(x.took.prepare); }));
    row.emplace_back("setup_ms", of_end([](const end& x) { return span(x.took.setup); }));
    row.emplace_back("agent_ms", of_end([](const end& x) { return span(x.took.agent); }));
    row.emplace_back("score_ms", of_end([](const end& x) { return span(x.took.score); }));
    row.emplace_back("teardown_ms", of_end([](const end& x) { return span(x.took.teardown); }));
    row.emplace_back("whole_ms", of_end([](const end& x) { return span(x.took.whole); }));
    row.emplace_back("transcript", of_end([](const end& x) { return text_or_null(x.transcript); }));
    row.emplace_back("charged_tokens", of_end([](const end& x) { return json(x.charged->tokens); }));
    row.emplace_back("charged_usd", of_end([](const end& x) { return json(x.charged->usd); }));
}

void add_spending(exported_row& row, const journal::attempt_row* a) {
    const auto tokens = [&](std::uint64_t token_usage::*kind) {
        return a == nullptr ? json(nullptr) : json(a->noted.tokens.*kind);
    };
    row.emplace_back("input_tokens", tokens(&token_usage::input));
    row.emplace_back("cached_tokens", tokens(&token_usage::cached));
    row.emplace_back("output_tokens", tokens(&token_usage::output));
    row.emplace_back("reasoning_tokens", tokens(&token_usage::reasoning));
    row.emplace_back("usd", a == nullptr ? json(nullptr) : or_null(a->noted.usd));
}

void add_provenance(exported_row& row, const journal::sweep_row& sweep, const journal::cell_described& cell,
                    const journal::attempt_row* a) {
    row.emplace_back("chalk_version", a == nullptr ? json(nullptr) : json(a->chalk_version));
    row.emplace_back("config_digest", text_or_null(cell.config_digest));
    row.emplace_back("environment_digest", text_or_null(cell.environment_digest));
    row.emplace_back("image_digest", text_or_null(cell.image_digest));
    row.emplace_back("prices_digest", text_or_null(sweep.opened.prices_digest));
}

std::string csv_field(const json& value) {
    if (value.is_null()) {
        return {};
    }
    const auto text = value.is_string() ? value.get<std::string>() : dump_json(value);
    if (text.find_first_of(",\"\r\n") == std::string::npos) {
        return text;
    }
    std::string quoted = "\"";
    for (const char c : text) {
        quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
    }
    return quoted + "\"";
}

} // namespace

exported_row export_row(const journal::sweep_row& sweep, const journal::cell_described& cell,
                        const journal::run_row& run, const journal::attempt_row* attempt) {
    exported_row row;
    add_run(row, sweep, cell, run);
    add_start(row, attempt);
    add_end(row, attempt);
    add_spending(row, attempt);
    add_provenance(row, sweep, cell, attempt);
    return row;
}

std::string jsonl_line(const exported_row& row) {
    std::string line = "{";
    for (const auto& [name, value] : row) {
        line += (line.size() == 1 ? "\"" : ",\"") + std::string(name) + "\":" + dump_json(value);
    }
    return line + "}\n";
}

std::string csv_line(const exported_row& row) {
    std::string line;
    for (const auto& [name, value] : row) {
        line += (line.empty() ? "" : ",") + csv_field(value);
    }
    return line + "\n";
}

std::string csv_header() {
    std::string line;
    for (const auto& [name, value] : export_row({}, {}, {}, nullptr)) {
        line += (line.empty() ? "" : ",") + std::string(name);
    }
    return line + "\n";
}

} // namespace chalk::cli
