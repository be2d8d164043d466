#include "config/sweep/sweep_plan_text.hpp"

#include <fmt/format.h>

namespace chalk::config {

sweep_plan plan_sweep(sweep_runs& runs) {
    constexpr std::size_t shown = 5;
    const auto& matrix = runs.matrix();
    const auto& sweep = runs.file().sweep;
    sweep_plan plan;
    plan.name = sweep.name;
    plan.combinations = matrix.combinations();
    plan.cells = matrix.count_kept();
    plan.repeat = sweep.repeat;
    plan.runs = plan.cells * plan.repeat; // the loader has seen that it fits
    plan.seed = sweep.seed;
    plan.digest = runs.file().digest;
    for (const auto& axis : matrix.axes()) {
        plan.axes.push_back({axis.name, axis.values.size()});
    }
    for (std::uint64_t repeat = 0; repeat < plan.repeat && plan.first_runs.size() < shown; ++repeat) {
        for (auto number = matrix.next_kept(0); number && plan.first_runs.size() < shown;
             number = matrix.next_kept(*number + 1)) {
            const auto cell = runs.cell(*number);
            plan.first_runs.push_back({runs.id(*cell, repeat), cell->values.label});
        }
    }
    return plan;
}

std::string sweep_plan_text(const sweep_plan& plan) {
    auto text =
        fmt::format("sweep {}: {} cells, {} runs of each, {} runs\n", plan.name, plan.cells, plan.repeat, plan.runs);
    if (plan.combinations != plan.cells) {
        text += fmt::format("  the filters leave out {} of {} combinations\n", plan.combinations - plan.cells,
                            plan.combinations);
    }
    for (const auto& axis : plan.axes) {
        text += fmt::format("  axis {}: {} values\n", axis.name, axis.values);
    }
    text += fmt::format("  seed {}, {}\n", plan.seed, plan.digest);
    for (const auto& run : plan.first_runs) {
        text += fmt::format("  {}  {}\n", run.id.str(), run.cell);
    }
    if (plan.runs > plan.first_runs.size()) {
        text += fmt::format("  and {} more\n", plan.runs - plan.first_runs.size());
    }
    return text;
}

json sweep_plan_json(const sweep_plan& plan) {
    json out = {{"name", plan.name},          {"combinations", plan.combinations},
                {"cells", plan.cells},        {"repeat", plan.repeat},
                {"runs", plan.runs},          {"seed", plan.seed},
                {"digest", plan.digest},      {"axes", json::array()},
                {"first_runs", json::array()}};
    for (const auto& axis : plan.axes) {
        out["axes"].push_back({{"name", axis.name}, {"values", axis.values}});
    }
    for (const auto& run : plan.first_runs) {
        out["first_runs"].push_back({{"run_id", run.id.str()}, {"cell", run.cell}});
    }
    return out;
}

} // namespace chalk::config
