#include "protocol/statistics/sweep_figures.hpp"

#include "protocol/core/json_text.hpp"

namespace chalk::statistics {

namespace {

standing standing_of_closing(journal::closing why) {
    switch (why) {
    case journal::closing::cancelled:
        return standing::cancelled;
    case journal::closing::first_pass:
        return standing::first_pass;
    case journal::closing::sealed:
        return standing::sealed;
    case journal::closing::breaker:
    case journal::closing::stopped:
    case journal::closing::budget:
    case journal::closing::deadline:
        break;
    }
    return standing::stopped;
}

standing standing_of_end(const journal::attempt_ended& end) {
    if (end.means == journal::verdict::sealed) {
        return standing::sealed;
    }
    switch (end.how.status) {
    case outcome_status::passed:
        return standing::passed;
    case outcome_status::failed:
        return standing::failed;
    case outcome_status::error:
        return standing::error;
    case outcome_status::cancelled:
        break;
    }
    return standing::cancelled;
}

/// Gathers the runs of one cell after the other.
class gatherer {
  public:
    gatherer(const journal::journal_reader& from, std::uint64_t repeats,
             const std::function<void(const cell_figures&)>& visit)
        : journal_(from), repeats_(repeats), visit_(visit), sweep_(repeats) {}

    /// False: reading the cell's description failed, as end() will say.
    bool add(const journal::run_row& run) {
        const auto cell = static_cast<std::uint64_t>(run.run) / repeats_;
        if (!open_ || cell != cell_) {
            close();
            cell_ = cell;
            open_ = true;
        }
        ++touched_;
        group_.add_run(standing_of(run));
        for (const auto& attempt : run.attempts) {
            attempt.ended ? group_.add_attempt(*attempt.ended) : group_.add_open(attempt.noted);
        }
        return how_.has_value();
    }

    result<group_figures> end(std::uint64_t total_runs) {
        close();
        if (!how_) {
            return how_.error();
        }
        sweep_.add_not_started(total_runs - std::min(total_runs, cells_ * repeats_));
        return sweep_.figures();
    }

  private:
    void close() {
        if (!open_) {
            return;
        }
        group_.add_not_started(repeats_ - touched_);
        sweep_.add_cell(group_);
        ++cells_;
        show();
        group_ = {};
        touched_ = 0;
        open_ = false;
    }

    void show() {
        if (!visit_ || !how_) {
            return;
        }
        auto described = journal_.cell(journal::cell_number{cell_});
        if (!described) {
            how_ = described.error();
            return;
        }
        cell_figures figures;
        figures.cell.number = journal::cell_number{cell_};
        if (*described) {
            figures.cell = std::move(**described);
        }
        figures.figures = group_.figures(repeats_);
        figures.group = &group_;
        visit_(figures);
    }

    const journal::journal_reader& journal_;
    std::uint64_t repeats_;
    const std::function<void(const cell_figures&)>& visit_;
    sweep_group sweep_;
    cell_group group_;
    std::uint64_t cell_ = 0;
    std::uint64_t touched_ = 0;
    std::uint64_t cells_ = 0;
    bool open_ = false;
    result<void> how_;
};

json to_json(const std::optional<interval>& i) {
    return i ? json{{"low", i->low}, {"high", i->high}, {"method", i->method}} : json(nullptr);
}

json to_json(const counts& c) {
    json runs = {{"total", c.total()}};
    for (std::size_t i = 0; i < standing_names.size(); ++i) {
        runs[std::string(standing_names.at(i))] = c.standings.at(i);
    }
    json by_class = json::object();
    for (std::size_t i = 0; i < error_class_names.size(); ++i) {
        by_class[std::string(error_class_names.at(i))] = c.errors.at(i);
    }
    runs["errors_by_class"] = std::move(by_class);
    return runs;
}

json to_json(const spent_figures& s) {
    return {{"tokens",
             {{"input", s.tokens.input},
              {"cached", s.tokens.cached},
              {"output", s.tokens.output},
              {"reasoning", s.tokens.reasoning}}},
            {"usd", s.usd},
            {"unpriced_attempts", s.unpriced_attempts},
            {"unsettled_tokens", s.unsettled_tokens},
            {"unsettled_usd", s.unsettled_usd}};
}

template<class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json(nullptr);
}

} // namespace

run_standing standing_of(const journal::run_row& run) {
    run_standing now;
    if (!run.closed) {
        now.where = standing::unfinished;
        return now;
    }
    const auto* counted = run.counted();
    if (counted == nullptr || !counted->ended) {
        now.where = run.closed->why ? standing_of_closing(*run.closed->why) : standing::stopped;
        return now;
    }
    now.where = standing_of_end(*counted->ended);
    now.took = counted->ended->took;
    if (now.where == standing::error) {
        now.kind = counted->ended->how.kind;
    }
    if (now.where == standing::passed || now.where == standing::failed) {
        now.score = counted->ended->score;
    }
    return now;
}

result<group_figures> figure_out(const journal::journal_reader& journal,
                                 const std::function<void(const cell_figures&)>& visit) {
    const auto sweep = journal.sweep();
    if (!sweep) {
        return sweep.error();
    }
    gatherer gathered(journal, std::max<std::uint64_t>(1, sweep->opened.repeats), visit);
    const auto read = journal.for_each_run([&](const journal::run_row& run) { return gathered.add(run); });
    if (!read) {
        return read.error();
    }
    return gathered.end(sweep->opened.total_runs);
}

json to_json(const group_figures& f) {
    json pass = json::array();
    for (const auto& p : f.pass) {
        pass.push_back({{"k", p.k}, {"cells", p.cells}, {"pass_at_k", p.at}, {"pass_hat_k", p.hat}});
    }
    json stages = json::object();
    for (std::size_t i = 0; i < stage_names.size(); ++i) {
        const auto& s = f.stages.at(i);
        stages[std::string(stage_names.at(i))] =
            s.count == 0 ? json(nullptr) : json{{"count", s.count}, {"p50_ms", s.p50}, {"p95_ms", s.p95}};
    }
    return {{"runs", to_json(f.runs)},
            {"attempts", {{"ended", f.runs.attempts}, {"retried", f.runs.retried}, {"lost", f.runs.lost}}},
            {"cells", f.cells},
            {"score", {{"mean", or_null(f.score)}, {"runs", f.scored}, {"interval", to_json(f.score_interval)}}},
            {"pass_rate",
             {{"rate", or_null(f.pass_rate)}, {"runs", f.runs.judged()}, {"interval", to_json(f.pass_interval)}}},
            {"pass", std::move(pass)},
            {"spent", to_json(f.spent)},
            {"stages", std::move(stages)},
            {"warnings", f.warnings}};
}

} // namespace chalk::statistics
