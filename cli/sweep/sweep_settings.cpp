#include "cli/sweep/sweep_settings.hpp"

#include "cli/run/tree_settings.hpp"

#include <utility>

namespace chalk::cli {

namespace {

actors::schedule_rules rules_of(const config::sweep_file& sweep) {
    actors::schedule_rules rules;
    rules.repeats = sweep.repeat;
    rules.retry = sweep.retry;
    rules.stop = sweep.stop;
    rules.breaker = sweep.breaker;
    rules.seal_at = sweep.seal_at;
    return rules;
}

} // namespace

result<actors::tree_settings> make_sweep_settings(sweep_site& site, const std::filesystem::path& folder,
                                                  opened_sweep opened, std::shared_ptr<actors::watcher> watch) {
    const auto& file = site.runs().file().sweep;
    const auto& matrix = site.runs().matrix();
    auto settings = make_tree_settings(site.common(), site.how(), std::move(watch));
    if (!settings) {
        return settings;
    }
    settings->plan.emplace(
        matrix.count_kept(), [&matrix](std::uint64_t from) { return matrix.next_kept(from); }, rules_of(file),
        std::move(opened.before));
    settings->make_order = [&site](actors::run_key key, attempt_number attempt) { return site.order(key, attempt); };
    settings->capacity = site.capacity();
    settings->max_runs = site.max_runs();
    settings->window = actors::with_slack(site.at_once());
    settings->disk = folder;
    settings->budget = {file.budget.tokens, file.budget.usd};
    settings->spent_before = opened.spent;
    settings->deadline = file.deadlines.sweep;
    settings->journal = std::move(opened.journal);
    settings->journal->describe = [&site](std::uint64_t cell) { return site.describe(cell); };
    return settings;
}

} // namespace chalk::cli
