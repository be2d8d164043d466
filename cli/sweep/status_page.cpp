#include "cli/sweep/status_page.hpp"

#include "cli/show/page.hpp"
#include "cli/sweep/columns.hpp"
#include "cli/sweep/values.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cli {

namespace {

constexpr std::size_t most_rows = 50;

std::string interval_text(const std::optional<statistics::interval>& range) {
    return range ? fmt::format("[{}, {}]", score_text(range->low), score_text(range->high)) : "";
}

std::string counts_text(const statistics::counts& runs) {
    std::string text;
    for (std::size_t i = 0; i < statistics::standing_names.size(); ++i) {
        if (runs.standings.at(i) > 0) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", runs.standings.at(i),
                                statistics::standing_names.at(i));
        }
    }
    return text.empty() ? "none" : text;
}

std::string errors_text(const statistics::counts& runs) {
    std::string text;
    for (std::size_t i = 0; i < error_class_names.size(); ++i) {
        if (runs.errors.at(i) > 0) {
            text += fmt::format("{}{} {}", text.empty() ? "" : ", ", runs.errors.at(i), error_class_names.at(i));
        }
    }
    return text;
}

std::string passes_text(const std::vector<statistics::pass_figure>& passes, double statistics::pass_figure::*figure) {
    std::string text;
    for (const auto& pass : passes) {
        text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", pass.k, score_text(pass.*figure));
    }
    return text;
}

std::string spent_text(const statistics::spent_figures& spent) {
    return fmt::format("{} tokens in ({} cached), {} out ({} reasoning), {:.4f} USD", spent.tokens.input,
                       spent.tokens.cached, spent.tokens.output, spent.tokens.reasoning, spent.usd);
}

std::string stages_text(const statistics::group_figures& figures) {
    std::string text;
    for (std::size_t i = 0; i < statistics::stage_names.size(); ++i) {
        if (const auto& stage = figures.stages.at(i); stage.count > 0) {
            text += fmt::format("{}{} {} / {}", text.empty() ? "" : ", ", statistics::stage_names.at(i),
                                duration_text(static_cast<std::int64_t>(stage.p50)),
                                duration_text(static_cast<std::int64_t>(stage.p95)));
        }
    }
    return text;
}

std::string field(const page_style& style, std::string_view name, const std::string& value) {
    constexpr std::size_t name_width = 13;
    if (value.empty()) {
        return {};
    }
    std::string text;
    for (const auto& line : wrap(value, style.width - name_width)) {
        const auto left = text.empty() ? fmt::format("{:<{}}", name, name_width) : std::string(name_width, ' ');
        text += paint(style, ink::dim, left) + line + "\n";
    }
    return text;
}

} // namespace

std::string_view state_name(const sweep_state& state) noexcept {
    if (!state.runner.empty()) {
        return "running";
    }
    if (!state.sweep.ended) {
        return "interrupted";
    }
    return state.sweep.ended->complete ? "complete" : "stopped";
}

json to_json(const sweep_state& state) {
    const auto& s = state.sweep;
    json ended = nullptr;
    if (s.ended) {
        ended = {{"at", format_time(s.ended->at)}, {"complete", s.ended->complete}, {"message", s.ended->message}};
    }
    return {{"folder", state.folder.string()},
            {"state", std::string(state_name(state))},
            {"runner", text_or_null(state.runner)},
            {"name", s.opened.name},
            {"seed", s.opened.seed},
            {"file_digest", s.opened.file_digest},
            {"prices_digest", text_or_null(s.opened.prices_digest)},
            {"chalk_version", s.chalk_version},
            {"repeats", s.opened.repeats},
            {"cells", s.opened.cells},
            {"total_runs", s.opened.total_runs},
            {"opened", format_time(s.opened.at)},
            {"sessions", s.sessions},
            {"late_results", s.late_results},
            {"ended", std::move(ended)}};
}

json to_json(const statistics::cell_figures& one) {
    const auto& cell = one.cell;
    auto values = parse_json(cell.values);
    return {{"number", static_cast<std::uint64_t>(cell.number)},
            {"id", text_or_null(cell.id)},
            {"label", text_or_null(cell.label)},
            {"values", values ? std::move(*values) : json(nullptr)},
            {"config_digest", text_or_null(cell.config_digest)},
            {"environment_digest", text_or_null(cell.environment_digest)},
            {"image_digest", text_or_null(cell.image_digest)},
            {"figures", statistics::to_json(one.figures)}};
}

std::string state_lines(const sweep_state& state, const page_style& style) {
    const auto& s = state.sweep;
    const auto name = state_name(state);
    const auto colour = name == "complete" ? ink::green : name == "running" ? ink::cyan : ink::yellow;
    std::string text = fmt::format("{}  {}\n", paint(style, ink::bold, one_line(s.opened.name, style.width - 14)),
                                   paint(style, colour, name));
    text += field(style, "folder", state.folder.string());
    text += field(style, "runner", state.runner);
    text += field(style, "opened",
                  fmt::format("{} by chalk {}, taken up {} times since", format_time(s.opened.at), s.chalk_version,
                              s.sessions - std::min<std::uint64_t>(1, s.sessions)));
    if (s.ended) {
        text +=
            field(style, "ended", format_time(s.ended->at) + (s.ended->message.empty() ? "" : ": ") + s.ended->message);
    }
    if (name == "interrupted") {
        text += field(style, "", fmt::format("go on with it by `chalk sweep resume {}`", state.folder.string()));
    }
    text += field(style, "runs",
                  fmt::format("{} ({} cells, {} of each)", s.opened.total_runs, s.opened.cells, s.opened.repeats));
    return text;
}

std::string figure_lines(const statistics::group_figures& figures, const page_style& style) {
    std::string text;
    text += field(style, "stand", counts_text(figures.runs));
    text += field(style, "errors", errors_text(figures.runs));
    text += field(style, "attempts",
                  fmt::format("{} ended, {} tried again, {} lost", figures.runs.attempts, figures.runs.retried,
                              figures.runs.lost));
    if (figures.score) {
        text += field(style, "score",
                      fmt::format("{} {} over {} runs", number_text(figures.score),
                                  interval_text(figures.score_interval), figures.scored));
    }
    if (figures.pass_rate) {
        text += field(style, "pass rate",
                      fmt::format("{} {} over {} runs", number_text(figures.pass_rate),
                                  interval_text(figures.pass_interval), figures.runs.judged()));
        text += field(style, "pass@k", passes_text(figures.pass, &statistics::pass_figure::at));
        text += field(style, "pass^k", passes_text(figures.pass, &statistics::pass_figure::hat));
    }
    text += field(style, "spent", spent_text(figures.spent));
    text += field(style, "p50 / p95", stages_text(figures));
    for (const auto& warning : figures.warnings) {
        text += field(style, "note", warning);
    }
    return text;
}

void cell_table::add(const statistics::cell_figures& cell) {
    ++cells_;
    if (rows_.size() == most_rows) {
        return;
    }
    const auto& f = cell.figures;
    const auto label = cell.cell.label.empty() ? fmt::format("cell {}", static_cast<std::uint64_t>(cell.cell.number))
                                               : cell.cell.label;
    const auto ended =
        f.runs.total() - f.runs.of(statistics::standing::unfinished) - f.runs.of(statistics::standing::not_started);
    rows_.push_back({one_line(label, style_.width / 2), fmt::format("{}/{}", ended, f.runs.total()),
                     std::to_string(f.runs.of(statistics::standing::passed)),
                     std::to_string(f.runs.of(statistics::standing::error)), number_text(f.score),
                     interval_text(f.score_interval)});
}

std::string cell_table::text() const {
    if (rows_.empty()) {
        return {};
    }
    auto text = "\n" + columns_text({"cell", "ended", "passed", "errors", "score", "95 %"}, rows_, style_);
    if (cells_ > rows_.size()) {
        text += fmt::format("... and {} more cells (--json has all)\n", cells_ - rows_.size());
    }
    return text;
}

} // namespace chalk::cli
