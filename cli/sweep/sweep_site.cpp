#include "cli/sweep/sweep_site.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

/// Which run has an outcome is kept as a bit for each of them.
constexpr std::uint64_t most_runs = std::uint64_t{1} << 33U;

/// How many runs of this size fit.
std::size_t fitting(const actors::resources& has, const actors::resources& wants) {
    const auto share = [](std::uint64_t have, std::uint64_t want) {
        return want == 0 ? std::numeric_limits<std::uint64_t>::max() : have / want;
    };
    const std::uint64_t n =
        std::min({share(has.memory.count, wants.memory.count), share(has.disk.count, wants.disk.count),
                  share(has.processes, wants.processes), share(has.milli_cpus, wants.milli_cpus),
                  share(has.open_files, wants.open_files), std::uint64_t{1'000'000}});
    return static_cast<std::size_t>(n);
}

actors::resources within(actors::resources machine, const config::sweep_budget& budget) {
    const auto lower = [](auto& has, std::optional<std::uint64_t> limit) {
        using number = std::remove_reference_t<decltype(has)>;
        if (limit) {
            has = static_cast<number>(std::min<std::uint64_t>(has, *limit));
        }
    };
    if (budget.memory) {
        lower(machine.memory.count, budget.memory->count);
    }
    if (budget.disk) {
        lower(machine.disk.count, budget.disk->count);
    }
    lower(machine.processes, budget.processes);
    lower(machine.open_files, budget.open_files);
    if (budget.cpus) {
        lower(machine.milli_cpus, static_cast<std::uint64_t>(*budget.cpus * 1000));
    }
    return machine;
}

/// A budget that is shared needs to know what each run may take of it.
result<void> check_budget(const config::sweep_budget& budget, const config::run_config& run) {
    if (run.use_fake_model || run.model.empty()) {
        return {};
    }
    if (budget.tokens && !run.limit.run.max_total_tokens) {
        return config_failure("budget.tokens needs limits.max_run_total_tokens in the base: what a run may take of the "
                              "budget is set aside before it starts");
    }
    if (budget.usd && !run.limit.run.max_usd) {
        return config_failure(
            "budget.usd needs limits.max_run_usd in the base: what a run may take of the budget is set "
            "aside before it starts");
    }
    return {};
}

} // namespace

actors::run_deadlines deadlines_of(const config::deadline_rules& rules) {
    actors::run_deadlines out;
    out.prepare = rules.prepare.value_or(out.prepare);
    if (rules.setup) {
        out.setup = rules.setup;
        out.start = std::min(out.start, *rules.setup);
    }
    out.agent = rules.agent;
    out.score = rules.score;
    if (rules.teardown) {
        out.exit_after_final = *rules.teardown;
        out.remove = *rules.teardown;
    }
    out.whole_run = rules.run.value_or(out.whole_run);
    return out;
}

sweep_site::sweep_site(config::loaded_sweep_file file, const fs::path& folder, run_options how)
    : runs_(std::move(file), folder), how_(std::move(how)), deadlines_(deadlines_of(runs_.file().sweep.deadlines)) {}

step_result<std::unique_ptr<sweep_site>> sweep_site::prepare(boost::asio::io_context& io,
                                                             config::loaded_sweep_file file, const sweep_options& asked,
                                                             const own_keys& keys, std::shared_ptr<runtime> sandboxes) {
    const bool dry_run = asked.dry_run;
    if (file.matrix.combinations() > most_runs / file.sweep.repeat) {
        return refused{exit_code::usage, fmt::format("{} combinations times {} repeats are more than {}: let axes move "
                                                     "together, lower `repeat`, or split the sweep",
                                                     file.matrix.combinations(), file.sweep.repeat, most_runs)};
    }
    std::unique_ptr<sweep_site> site(new sweep_site(std::move(file), asked.folder, asked.how));
    auto& options = site->how_;
    options.dry_run = dry_run;
    // As many as there may be: limits of one run follow from how many run at once.
    options.runs = static_cast<std::size_t>(
        std::min<std::uint64_t>(site->runs_.matrix().count_kept() * site->runs_.repeats(), std::uint64_t{1'000'000}));
    const auto& budget = site->runs_.file().sweep.budget;
    if (budget.max_concurrent) {
        options.max_concurrent = std::min<std::size_t>(options.max_concurrent.value_or(*budget.max_concurrent),
                                                       static_cast<std::size_t>(*budget.max_concurrent));
    }
    site->max_runs_ = options.max_concurrent;
    auto first = site->runs_.matrix().next_kept(0);
    if (!first || options.runs == 0) {
        return refused{exit_code::usage, "the sweep has no runs: its filters leave no cell"};
    }
    auto common = prepare_site(io, options);
    if (!common) {
        return common.error();
    }
    if (sandboxes) {
        common->sandboxes = std::move(sandboxes);
    }
    if (auto ready = prepare_backend(*common, keys); !ready) {
        return ready.error();
    }
    const auto sample = site->runs_.run(*site->runs_.cell(*first), 0, attempt_number{1});
    for (const auto& folder_of : site->runs_.environments()) {
        sweep_environment one;
        one.prepared = *common;
        one.prepared.base = sample;
        one.prepared.base.environment = folder_of;
        if (auto ready = prepare_environment(io, options, one.prepared); !ready) {
            return ready.error();
        }
        if (auto fits = check_budget(budget, one.prepared.base); !fits) {
            return refused{exit_code::usage, fits.error().message};
        }
        if (site->environments_.empty() && !dry_run) {
            remove_leftovers(one.prepared);
        }
        common->sandboxes = one.prepared.sandboxes; // opened for the first one, shared by all
        if (!dry_run) {
            auto tasks = look_at_tasks(io, options, one.prepared);
            if (!tasks) {
                return tasks.error();
            }
            one.tasks = std::move(*tasks);
        }
        if (site->environments_.empty()) {
            site->notes_ = one.prepared.notes;
        }
        site->environments_.emplace(folder_of, std::move(one));
    }
    site->plan_admission();
    if (site->at_once_ == 0) {
        return refused{exit_code::machine_lacks, "the sweep's budget (cpus, memory_bytes, disk_bytes, processes, "
                                                 "open_files) is less than one run needs"};
    }
    return site;
}

void sweep_site::plan_admission() {
    const auto& limits = common().limits;
    capacity_ = within(limits.capacity, runs_.file().sweep.budget);
    at_once_ = fitting(capacity_, limits.reservation);
}

const sweep_environment* sweep_site::environment_of(const config::run_config& run) const {
    const auto found = environments_.find(run.environment);
    return found == environments_.end() ? nullptr : &found->second;
}

actors::order_ptr sweep_site::order(actors::run_key key, attempt_number attempt) {
    const auto cell = runs_.cell(key.cell);
    const auto run = runs_.run(*cell, key.index, attempt);
    const auto* environment = environment_of(run);
    auto order = make_order(environment != nullptr ? environment->prepared : common(), how_, run, key, attempt);
    order->deadlines = deadlines_;
    order->cell_label = cell->values.label;
    if (environment == nullptr) {
        order->refused = config_failure("the environment was not prepared: " + run.environment.string());
    } else if (!environment->tasks.empty()) {
        auto task = find_task(environment->tasks, run.task);
        if (!task) {
            order->refused = task.error();
        } else {
            order->header.task = task->name;
        }
    }
    return order;
}

journal::cell_described sweep_site::describe(std::uint64_t number) {
    const auto cell = runs_.cell(number);
    const auto* environment = environment_of(cell->config);
    return {.number = journal::cell_number{number},
            .id = cell->values.id,
            .label = cell->values.label,
            .values = dump_json(cell->values.assignment),
            .config_digest = "sha256:" + sha256_hex(dump_json(config::to_json(cell->config))),
            .environment_digest = environment != nullptr ? environment->prepared.environment.digest : std::string{},
            .image_digest = {}};
}

} // namespace chalk::cli
