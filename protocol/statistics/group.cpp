#include "protocol/statistics/group.hpp"

#include "protocol/statistics/pass_at_k.hpp"

#include <algorithm>
#include <numeric>

namespace chalk::statistics {

namespace {

moments as_moments(std::uint64_t passed, std::uint64_t judged) {
    const exact_number sum(static_cast<double>(passed));
    return {judged, sum, sum}; // 1 squared is 1
}

/// By the cells, which differ from each other; where they do not differ at all, by the runs.
std::optional<interval> pass_interval(const clustered_mean& by_cell, std::uint64_t passed, std::uint64_t judged) {
    auto clustered = by_cell.student_t();
    if (!clustered || clustered->low == clustered->high) {
        return wilson(passed, judged);
    }
    clustered->low = std::max(0.0, clustered->low);
    clustered->high = std::min(1.0, clustered->high);
    return clustered;
}

std::array<std::optional<milliseconds>, stage_names.size()> in_order(const journal::stage_durations& took) {
    return {took.prepare, took.setup, took.agent, took.score, took.teardown, took.whole};
}

} // namespace

std::uint64_t counts::total() const noexcept {
    return std::accumulate(standings.begin(), standings.end(), std::uint64_t{0});
}

void cell_group::add_run(const run_standing& run) {
    ++counts_.standings.at(static_cast<std::size_t>(run.where));
    if (run.kind) {
        ++counts_.errors.at(static_cast<std::size_t>(*run.kind));
    }
    if (run.score) {
        scores_.add(*run.score);
    }
    const auto spans = in_order(run.took);
    for (std::size_t i = 0; i < spans.size(); ++i) {
        if (spans.at(i)) {
            stages_.at(i).add(static_cast<std::uint64_t>(std::max<std::int64_t>(0, spans.at(i)->count())));
        }
    }
}

void cell_group::add(const journal::spending& spent) {
    tokens_.input += spent.tokens.input;
    tokens_.cached += spent.tokens.cached;
    tokens_.output += spent.tokens.output;
    tokens_.reasoning += spent.tokens.reasoning;
    if (spent.usd) {
        usd_.add(*spent.usd);
    } else {
        ++unpriced_;
    }
}

void cell_group::add_attempt(const journal::attempt_ended& attempt) {
    ++counts_.attempts;
    counts_.retried += attempt.means == journal::verdict::retried ? 1 : 0;
    counts_.lost += attempt.means == journal::verdict::lost ? 1 : 0;
    add(attempt.spent);
    if (attempt.charged) {
        const auto known = charge_of(attempt.spent);
        unsettled_tokens_ += attempt.charged->tokens - std::min(attempt.charged->tokens, known.tokens);
        if (attempt.charged->usd > known.usd) {
            unsettled_usd_.add(exact_number(attempt.charged->usd) - exact_number(known.usd));
        }
    }
}

void cell_group::add_open(const journal::spending& noted) {
    add(noted);
}

void cell_group::add_not_started(std::uint64_t runs) {
    counts_.standings.at(static_cast<std::size_t>(standing::not_started)) += runs;
}

void cell_group::add(const cell_group& other) {
    const auto add_each = [](auto& into, const auto& from) {
        std::transform(from.begin(), from.end(), into.begin(), into.begin(), std::plus<>());
    };
    add_each(counts_.standings, other.counts_.standings);
    add_each(counts_.errors, other.counts_.errors);
    counts_.attempts += other.counts_.attempts;
    counts_.retried += other.counts_.retried;
    counts_.lost += other.counts_.lost;
    scores_.add(other.scores_);
    tokens_.input += other.tokens_.input;
    tokens_.cached += other.tokens_.cached;
    tokens_.output += other.tokens_.output;
    tokens_.reasoning += other.tokens_.reasoning;
    usd_.add(other.usd_);
    unpriced_ += other.unpriced_;
    unsettled_tokens_ += other.unsettled_tokens_;
    unsettled_usd_.add(other.unsettled_usd_);
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        stages_.at(i).add(other.stages_.at(i));
    }
}

std::vector<pass_figure> cell_group::passes(std::uint64_t repeats) const {
    std::vector<pass_figure> figures;
    const auto judged = counts_.judged();
    for (const auto k : reported_k(repeats)) {
        if (k <= judged) {
            const auto passed = counts_.of(standing::passed);
            figures.push_back({k, 1, pass_at_k(judged, passed, k), pass_hat_k(judged, passed, k)});
        }
    }
    return figures;
}

/// All but what differs between a cell and a sweep: intervals, pass@k, warnings.
group_figures cell_group::plain_figures() const {
    group_figures figures;
    figures.runs = counts_;
    figures.scored = scores_.count;
    figures.score = scores_.mean();
    if (counts_.judged() > 0) {
        figures.pass_rate = static_cast<double>(counts_.of(standing::passed)) / static_cast<double>(counts_.judged());
    }
    figures.spent = {tokens_, usd_.rounded(), unpriced_, unsettled_tokens_, unsettled_usd_.rounded()};
    for (std::size_t i = 0; i < stages_.size(); ++i) {
        if (const auto& stage = stages_.at(i); stage.count() > 0) {
            figures.stages.at(i) = {stage.count(), stage.at(50), stage.at(95)};
        }
    }
    return figures;
}

group_figures cell_group::figures(std::uint64_t repeats) const {
    auto figures = plain_figures();
    figures.cells = 1;
    figures.score_interval = student_t(scores_);
    figures.pass_interval = wilson(counts_.of(standing::passed), counts_.judged());
    figures.pass = passes(repeats);
    figures.warnings = warnings_of(figures, repeats);
    return figures;
}

sweep_group::sweep_group(std::uint64_t repeats) : repeats_(repeats) {
    for (const auto k : reported_k(repeats)) {
        pass_.push_back({k, 0, {}, {}});
    }
}

void sweep_group::add_cell(const cell_group& cell) {
    ++cells_;
    all_.add(cell);
    scores_.add_cluster(cell.scores_);
    passes_.add_cluster(as_moments(cell.counts_.of(standing::passed), cell.counts_.judged()));
    for (const auto& figure : cell.passes(repeats_)) {
        const auto sums = std::find_if(pass_.begin(), pass_.end(), [&](const auto& p) { return p.k == figure.k; });
        ++sums->cells;
        sums->at.add(figure.at);
        sums->hat.add(figure.hat);
    }
}

group_figures sweep_group::figures() const {
    auto figures = all_.plain_figures();
    figures.cells = cells_;
    figures.score_interval = scores_.clusters() < 2 ? student_t(all_.scores_) : scores_.student_t();
    figures.pass_interval = pass_interval(passes_, all_.counts_.of(standing::passed), all_.counts_.judged());
    for (const auto& sums : pass_) {
        if (sums.cells > 0) {
            const auto cells = static_cast<double>(sums.cells);
            figures.pass.push_back({sums.k, sums.cells, sums.at.rounded() / cells, sums.hat.rounded() / cells});
        }
    }
    figures.warnings = warnings_of(figures, repeats_);
    return figures;
}

} // namespace chalk::statistics
