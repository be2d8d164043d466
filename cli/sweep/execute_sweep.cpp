#include "cli/sweep/execute_sweep.hpp"

#include "cli/cluster/cluster_flags.hpp"
#include "cli/cluster/sweep_cluster.hpp"
#include "cli/progress/console.hpp"
#include "cli/run/interrupts.hpp"
#include "cli/run/model_access.hpp"
#include "cli/run/sizes.hpp"
#include "cli/sweep/control_socket.hpp"
#include "cli/sweep/results.hpp"
#include "cli/sweep/sweep_folder.hpp"
#include "cli/sweep/sweep_settings.hpp"
#include "config/sweep/sweep_plan_text.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/net/io_thread.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <memory>
#include <semaphore>
#include <utility>

#include <unistd.h>

namespace chalk::cli {

namespace {

constexpr std::string_view chalk_sweep = "chalk sweep";

/// Cells that are looked at for what only their models decide: keys, prices, libcurl. Others tell in their outcome.
constexpr std::size_t cells_checked = 1000;
constexpr std::chrono::seconds journal_patience{5};

console_mode choose_mode(const sweep_options& options) {
    if (options.json) {
        return console_mode::json_ends;
    }
    return ::isatty(STDERR_FILENO) != 0 ? console_mode::board : console_mode::progress_lines;
}

/// A gateway's settings when any cell asks a model.
step_result<std::optional<gateway::gateway_settings>> models_of(sweep_site& site,
                                                                const gateway::provider_settings& providers) {
    std::optional<gateway::gateway_settings> found;
    const auto& matrix = site.runs().matrix();
    std::size_t looked = 0;
    for (auto cell = matrix.next_kept(0); cell && looked < cells_checked;
         cell = matrix.next_kept(*cell + 1), ++looked) {
        auto one = make_gateway_settings(site.how(), site.runs().cell(*cell)->config, providers);
        if (!one) {
            auto why = refusal_of(one.error(), exit_code::machine_lacks);
            why.message = fmt::format("cell {}: {}", matrix.at(*cell).label, why.message);
            return why;
        }
        if (*one) {
            found = std::move(**one);
        }
    }
    return found;
}

json admission_json(const sweep_site& site) {
    const auto& each = site.common().limits.reservation;
    return {{"at_once", std::min(site.at_once(), site.max_runs().value_or(site.at_once()))},
            {"capacity",
             {{"memory_bytes", site.capacity().memory.count},
              {"disk_bytes", site.capacity().disk.count},
              {"processes", site.capacity().processes},
              {"cpus", site.capacity().milli_cpus / 1000.0},
              {"open_files", site.capacity().open_files}}},
            {"each_run",
             {{"memory_bytes", each.memory.count},
              {"disk_bytes", each.disk.count},
              {"processes", each.processes},
              {"cpus", each.milli_cpus / 1000.0},
              {"open_files", each.open_files}}}};
}

/// `left`: how many of the runs are to run.
exit_code print_plan(sweep_site& site, bool as_json, std::optional<std::uint64_t> left = std::nullopt) {
    const auto plan = config::plan_sweep(site.runs());
    const auto at_once = std::min(site.at_once(), site.max_runs().value_or(site.at_once()));
    const auto& each = site.common().limits.reservation;
    const bytes disk{each.disk.count * std::min<std::uint64_t>(at_once, left.value_or(plan.runs))};
    if (as_json) {
        auto out = config::sweep_plan_json(plan);
        out["admission"] = admission_json(site);
        out["disk_bytes_at_once"] = disk.count;
        if (left) {
            out["runs_left"] = *left;
        }
        fmt::print("{}\n", out.dump());
        return exit_code::fine;
    }
    for (const auto& note : site.notes()) {
        fmt::print("{}\n", note);
    }
    fmt::print("{}", config::sweep_plan_text(plan));
    if (left) {
        fmt::print("{} of them are left to run{}\n", *left,
                   site.runs().file().sweep.stop.first_pass ? " at most: not those of cells that have passed" : "");
    }
    fmt::print("the ledger admits {} runs at once, each with memory {}, disk {}, {} processes; "
               "together they take at most {} of disk\n",
               at_once, format_size(each.memory), format_size(each.disk), each.processes, format_size(disk));
    return exit_code::fine;
}

exit_code code_of(const console::ending& how, bool interrupted) {
    if (interrupted) {
        return exit_code::interrupted;
    }
    const bool all = !how.trouble && how.counts.errors == 0 && how.counts.not_started() == 0;
    return all ? exit_code::fine : exit_code::run_error;
}

/// Says what is to be said before there is a console, and by the console from then on. Any thread.
class late_speaker {
  public:
    void say(const std::string& text) {
        const std::scoped_lock held(mutex_);
        if (by_) {
            by_(text);
        } else {
            fmt::print(stderr, "{}: {}\n", chalk_sweep, text);
        }
    }
    void speak_with(std::function<void(const std::string&)> by) {
        const std::scoped_lock held(mutex_);
        by_ = std::move(by);
    }

  private:
    std::mutex mutex_;
    std::function<void(const std::string&)> by_;
};

/// What runs need besides their site: models on this machine, or a cluster, whose nodes have their own.
struct sweep_parts {
    std::optional<gateway::gateway_settings> models;
    std::optional<sweep_cluster> cluster;
    std::shared_ptr<late_speaker> speaker = std::make_shared<late_speaker>();
};

step_result<sweep_parts> prepare_parts(io_thread& io, sweep_site& site,
                                       const std::optional<config::cluster_file>& wanted, const own_keys& keys,
                                       bool dry_run) {
    sweep_parts parts;
    if (!wanted) {
        auto models = models_of(site, gateway::read_provider_settings(keys));
        if (!models) {
            return models.error();
        }
        parts.models = std::move(*models);
    } else if (!dry_run) {
        auto cluster = prepare_cluster(io.context(), site, *wanted,
                                       [to = parts.speaker](const std::string& text) { to->say(text); });
        if (!cluster) {
            return cluster.error();
        }
        parts.cluster = std::move(*cluster);
    }
    return parts;
}

/// Runs what is left of the sweep, until it ends or is told to.
exit_code run_sweep(io_thread& io, sweep_site& site, const sweep_options& options, opened_sweep opened,
                    std::optional<gateway::gateway_settings> models, std::optional<sweep_cluster> cluster,
                    const std::shared_ptr<late_speaker>& speaker) {
    const auto& file = site.runs().file().sweep;
    const auto& matrix = site.runs().matrix();
    const auto watch = std::make_shared<console>(choose_mode(options), matrix.count_kept() * file.repeat);
    for (const auto& note : site.notes()) {
        watch->say(note);
    }
    for (const auto& note : opened.notes) {
        watch->say(note);
    }
    const opened_sweep as_opened = opened;
    auto settings = make_sweep_settings(site, options.folder, std::move(opened), watch);
    if (!settings) {
        return refuse(chalk_sweep, {exit_code::machine_lacks, settings.error().message});
    }
    settings->models = std::move(models);
    if (cluster) {
        if (auto used = use_cluster(*settings, *cluster, site, as_opened); !used) {
            return refuse(chalk_sweep, usage_refusal(used.error()));
        }
        speaker->speak_with([watch](const std::string& text) { watch->say(text); });
        if (cluster->site->port() != 0) {
            watch->say(fmt::format("waiting for nodes at port {}: chalk node --join HOST:{} --tls DIR",
                                   cluster->site->port(), cluster->site->port()));
        }
    }
    const auto closed = std::make_shared<std::binary_semaphore>(0);
    settings->journal->closed = [closed](const auto&) { closed->release(); };
    auto finished = watch->finished();
    const auto tree = actors::run_tree::start(io.context(), std::move(*settings));
    if (cluster) {
        cluster->site->start(*tree);
    }
    auto control = control_socket::open(io.context(), options.folder, [&tree](actors::sweep_control what, auto answer) {
        tree->control(std::move(what), std::move(answer));
    });
    if (!control) {
        watch->say("chalk sweep: " + control.error().message + "; `chalk sweep ctl` will not reach it");
    }
    std::function<void()> reload; // blocks for as long as it takes to read a few small files
    std::mutex reloading;         // the site goes before the signals do
    if (cluster) {
        reload = [&] {
            const std::scoped_lock held(reloading);
            if (!cluster->site) {
                return;
            }
            const auto done = cluster->site->reload();
            watch->say(done ? std::string("the certificates were read again") : done.error().message);
        };
    }
    const interrupts signals(
        io.context(),
        [&](const std::string& reason) {
            watch->say(fmt::format("chalk sweep: {}: nothing more starts, what is under way ends now and will be run "
                                   "again by `chalk sweep resume {}`. Again to kill it.",
                                   reason, options.folder.string()));
            tree->cancel(reason);
        },
        [&](const std::string& reason) {
            watch->say("chalk sweep: killing every run");
            tree->kill(reason);
        },
        reload);
    const console::ending how = finished.get();
    if (control) {
        control->reset(); // before the tree, which it asks
    }
    if (cluster) {
        std::unique_ptr<coordinator_site> gone; // likewise, but not while the io thread waits for the lock
        {
            const std::scoped_lock held(reloading);
            gone = std::move(cluster->site);
        }
    }
    // Nothing depends on it but a tidy folder; a journal that hangs keeps nobody.
    static_cast<void>(closed->try_acquire_for(journal_patience));
    watch->print_summary(how);
    return code_of(how, signals.happened());
}

exit_code report(const sweep_options& options, exit_code code) {
    if (!options.json) {
        const auto shown = show_status(options.folder, false);
        return code == exit_code::fine ? shown : code;
    }
    return code;
}

} // namespace

exit_code execute_sweep(const sweep_options& options, const own_keys& keys) {
    ::signal(SIGPIPE, SIG_IGN);
    const auto wanted = read_cluster_flags(options.cluster);
    if (!wanted) {
        return refuse(chalk_sweep, usage_refusal(wanted.error()));
    }
    auto file = config::load_sweep_file(options.config);
    if (!file) {
        return refuse(chalk_sweep, usage_refusal(file.error()));
    }
    io_thread io;
    auto site = sweep_site::prepare(io.context(), *file, options, keys);
    if (!site) {
        return refuse(chalk_sweep, site.error());
    }
    auto parts = prepare_parts(io, **site, *wanted, keys, options.dry_run);
    if (!parts) {
        return refuse(chalk_sweep, parts.error());
    }
    if (options.dry_run) {
        return print_plan(**site, options.json);
    }
    auto opened = create_sweep(options.folder, *file, options.config, options.how);
    if (!opened) {
        return refuse(chalk_sweep, usage_refusal(opened.error()));
    }
    if (*wanted) {
        if (auto stored = store_cluster(options.folder, **wanted); !stored) {
            return refuse(chalk_sweep, usage_refusal(stored.error()));
        }
    }
    return report(options, run_sweep(io, **site, options, std::move(*opened), std::move(parts->models),
                                     std::move(parts->cluster), parts->speaker));
}

exit_code resume_sweep(const sweep_options& options, const own_keys& keys) {
    ::signal(SIGPIPE, SIG_IGN);
    // A plan changes nothing; without one, an older chalk's journal can be read from here on.
    if (!options.dry_run) {
        if (auto ready = journal::journal_file::bring_up_to_date(options.folder); !ready) {
            return refuse(chalk_sweep, usage_refusal(ready.error()));
        }
    }
    auto stored = read_sweep(options.folder);
    if (!stored) {
        return refuse(chalk_sweep, usage_refusal(stored.error()));
    }
    // Before anything is asked of the machine, and written: a run that is not there leaves no trace.
    auto left = runs_left(options.folder, options.requeue);
    if (!left) {
        return refuse(chalk_sweep, usage_refusal(left.error()));
    }
    auto wanted = read_cluster_flags(options.cluster);
    if (wanted && !*wanted) {
        wanted = stored_cluster(options.folder);
    }
    if (!wanted) {
        return refuse(chalk_sweep, usage_refusal(wanted.error()));
    }
    const std::uint64_t repeats = stored->file.sweep.repeat;
    io_thread io;
    sweep_options as_begun = options;
    as_begun.how = stored->how;
    auto site = sweep_site::prepare(io.context(), std::move(stored->file), as_begun, keys);
    if (!site) {
        return refuse(chalk_sweep, site.error());
    }
    auto parts = prepare_parts(io, **site, *wanted, keys, options.dry_run);
    if (!parts) {
        return refuse(chalk_sweep, parts.error());
    }
    if (options.dry_run) {
        return print_plan(**site, options.json, *left);
    }
    auto opened = take_up_sweep(options.folder, repeats, options.requeue);
    if (!opened) {
        return refuse(chalk_sweep, usage_refusal(opened.error()));
    }
    return report(options, run_sweep(io, **site, options, std::move(*opened), std::move(parts->models),
                                     std::move(parts->cluster), parts->speaker));
}

} // namespace chalk::cli
