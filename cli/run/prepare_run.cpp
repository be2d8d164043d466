#include "cli/run/prepare_run.hpp"

#include "actors/harness/left_places.hpp"
#include "actors/tree.hpp"
#include "cli/progress/least_level.hpp"
#include "cli/run/model_access.hpp"
#include "cli/run/mounts.hpp"
#include "cli/run/ports.hpp"
#include "cli/run/sizes.hpp"
#include "cli/run/student_network.hpp"
#include "config/cli_agent.hpp"
#include "protocol/backend/spool.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/image/environment.hpp"
#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/namespaces_runtime.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include <unistd.h>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view default_runtime = "namespaces";

/// Picks and probes. error: an unknown name is a usage error; a machine that lacks something gets its remedies.
step_result<std::shared_ptr<runtime>> open_runtime(boost::asio::io_context& io, const std::string& name,
                                                   std::vector<std::string>& notes) {
    if (name != default_runtime) {
        return refused{exit_code::usage,
                       fmt::format("--runtime {}: there is no such runtime; known: {}", name, default_runtime)};
    }
    namespaces_options how;
    std::error_code unreadable; // then harnesses are executed
    how.copied_program = fs::read_symlink("/proc/self/exe", unreadable);
    std::shared_ptr<runtime> made = make_namespaces_runtime(io, std::move(how));
    const probe_report report = made->probe();
    if (!report.usable()) {
        std::string message = fmt::format("the runtime {} cannot be used on this machine:", name);
        for (const auto& piece : report.missing) {
            message += fmt::format("\n  {}\n    {}", piece.what, piece.remedy);
        }
        return refused{exit_code::machine_lacks, std::move(message)};
    }
    for (const auto& note : report.notes) {
        notes.push_back(fmt::format("runtime {}: {}", name, note));
    }
    return made;
}

step_result<config::run_config> read_config(const run_options& options) {
    std::vector<config::override_value> overrides;
    const auto flag = [&overrides](const char* key, const char* name, const auto& value) {
        if (value) {
            overrides.push_back({key, name, json(*value)});
        }
    };
    flag("task", "--task", options.task);
    flag("agent", "--agent", options.agent);
    flag("model", "--model", options.model);
    flag("transcript_file", "--out", options.out);
    flag("websocket_port", "--websocket-port", options.websocket_port);
    auto loaded = config::load_run_config(options.config, overrides);
    if (!loaded) {
        return usage_refusal(loaded.error());
    }
    for (const auto& step : preprocessors()) {
        if (auto done = step(loaded->config); !done) {
            return usage_refusal(done.error());
        }
    }
    return std::move(loaded->config);
}

/// What is known before any sandbox to end badly. A sandbox that is only prepared needs no model.
result<void> check_before_start(const config::run_config& config, const run_options& options) {
    if (options.prepare_only || config.environment == config::noop_environment) {
        return {};
    }
    return actors::check_run_config(config, sandbox_layout::gateway_socket.string()); // every node has one
}

sandbox_request throwaway_request(const prepared_runs& prepared, const run_options& options, const run_id& id) {
    sandbox_request request;
    request.id = id;
    request.environment = prepared.environment;
    request.limits = prepared.limits.sandbox;
    request.rootfs = options.rootfs;
    request.mounts = prepared.mounts;
    return request;
}

} // namespace

step_result<task_list> look_at_tasks(boost::asio::io_context& io, const run_options& options,
                                     const prepared_runs& prepared) {
    if (!prepared.sandboxes || prepared.base.environment == config::noop_environment) {
        return task_list{};
    }
    const auto id = run_id::parse(fmt::format("describe-{}", ::getpid()));
    if (!id) {
        return usage_refusal(id.error());
    }
    auto tasks = describe_tasks(io, *prepared.sandboxes, throwaway_request(prepared, options, *id), prepared.base,
                                image::cache::default_folder());
    if (!tasks) {
        const bool users = tasks.error().kind == error_class::task || tasks.error().kind == error_class::config;
        return refused{users ? exit_code::usage : exit_code::machine_lacks,
                       fmt::format("cannot look at the environment {}: {}", prepared.base.environment.string(),
                                   tasks.error().message)};
    }
    return std::move(*tasks);
}

step_result<void> choose_task(const task_list& tasks, prepared_runs& prepared) {
    if (tasks.empty()) {
        return {}; // nobody could be asked
    }
    auto task = find_task(tasks, prepared.base.task);
    if (!task) {
        return usage_refusal(task.error());
    }
    prepared.task = task->name;
    prepared.required_hardware = task->required_hardware.value_or("");
    return {};
}

step_result<void> prepare_backend(prepared_runs& prepared, const own_keys& keys) {
    auto salt = backend::make_stream_salt();
    if (!salt) {
        return refused{exit_code::machine_lacks, salt.error().message};
    }
    prepared.backend = {keys.find(backend::token_variable), gateway::read_provider_settings(keys).ca_file,
                        std::move(*salt)};
    if (const auto left = backend::list_spools(backend::default_spool_folder()); left && !left->empty()) {
        prepared.notes.push_back(fmt::format(
            "events of {} runs wait for their backend: chalk backend list shows them, chalk backend send sends them",
            left->size()));
    }
    return {};
}

const std::vector<preprocessor>& preprocessors() {
    static const std::vector<preprocessor> none;
    return none;
}

step_result<prepared_runs> prepare_site(boost::asio::io_context& io, const run_options& options) {
    prepared_runs prepared;
    auto mounts = parse_mounts(options.mounts);
    if (!mounts) {
        return usage_refusal(mounts.error());
    }
    if (options.no_containerized && !mounts->empty()) {
        return refused{exit_code::usage, "--mount needs a sandbox: leave out --no-containerized"};
    }
    prepared.mounts = std::move(*mounts);
    // A runtime that was asked for does not depend on the task: first it must work.
    if (options.runtime && !options.no_containerized) {
        auto opened = open_runtime(io, *options.runtime, prepared.notes);
        if (!opened) {
            return opened.error();
        }
        prepared.sandboxes = std::move(*opened);
    }
    auto reach = student_reach();
    if (!reach) {
        return usage_refusal(reach.error());
    }
    prepared.reach = *reach;
    // Of a sweep too, whose console shows no log lines: its environments get the word.
    auto least = least_level();
    if (!least) {
        return usage_refusal(least.error());
    }
    prepared.least_level = *least;
    return prepared;
}

step_result<void> open_default_runtime(boost::asio::io_context& io, prepared_runs& prepared) {
    auto opened = open_runtime(io, std::string(default_runtime), prepared.notes);
    if (!opened) {
        return opened.error();
    }
    prepared.sandboxes = std::move(*opened);
    prepared.notes.insert(
        prepared.notes.begin(),
        fmt::format("no --runtime was given: using {}, whose sandboxes share this machine's kernel", default_runtime));
    return {};
}

void remove_leftovers(prepared_runs& prepared) {
    std::size_t removed = 0;
    const auto note = [&](const auto& left) {
        if (left) {
            removed += left->size();
        } else {
            prepared.notes.push_back("what an earlier chalk left could not all be removed: " + left.error().message);
        }
    };
    if (prepared.sandboxes) {
        note(prepared.sandboxes->remove_leftovers(false));
    } else {
        // Runs without a sandbox have no cgroups, but leave the sockets to their models.
        note(namespaces::remove_leftovers(namespaces::default_state_folder(), {}, false));
    }
    note(actors::remove_left_places(false));
    if (removed > 0) {
        prepared.notes.push_back(fmt::format("removed {} leftovers of earlier runs", removed));
    }
}

step_result<void> load_environment(prepared_runs& prepared) {
    if (prepared.base.environment == config::noop_environment) {
        if (prepared.sandboxes) {
            return refused{exit_code::usage, "environment builtin:noop runs only with --no-containerized"};
        }
        return {};
    }
    auto source = image::load_environment_source(prepared.base.environment);
    if (!source) {
        return usage_refusal(source.error());
    }
    prepared.environment = std::move(*source);
    return {};
}

step_result<void> prepare_environment(boost::asio::io_context& io, const run_options& options,
                                      prepared_runs& prepared) {
    if (auto known = check_before_start(prepared.base, options); !known) {
        return usage_refusal(known.error());
    }
    const bool noop = prepared.base.environment == config::noop_environment;
    if (!options.no_containerized && !prepared.sandboxes) {
        if (auto opened = open_default_runtime(io, prepared); !opened) {
            return opened.error();
        }
    }
    if (auto loaded = load_environment(prepared); !loaded) {
        return loaded.error();
    }
    auto machine = look_at_machine(prepared.base.transcript_file.parent_path());
    if (!machine) {
        return usage_refusal(machine.error());
    }
    auto limits = plan_limits(*machine, options, noop);
    if (!limits) {
        return refused{exit_code::machine_lacks, limits.error().message};
    }
    prepared.limits = *limits;
    return {};
}

step_result<prepared_runs> prepare_runs(boost::asio::io_context& io, const run_options& options) {
    if (options.prepare_only && options.runs > 1) {
        return refused{exit_code::usage, "--prepare-only takes one run: leave out -n"};
    }
    auto prepared = prepare_site(io, options);
    if (!prepared) {
        return prepared;
    }
    auto config = read_config(options);
    if (!config) {
        return config.error();
    }
    prepared->base = std::move(*config);
    if (auto ready = prepare_environment(io, options, *prepared); !ready) {
        return ready.error();
    }
    if (prepared->base.websocket_port) {
        if (auto free = check_ports(*prepared->base.websocket_port, options.runs); !free) {
            return usage_refusal(free.error());
        }
    }
    if (options.dry_run) {
        return prepared;
    }
    remove_leftovers(*prepared);
    auto tasks = look_at_tasks(io, options, *prepared);
    if (!tasks) {
        return tasks.error();
    }
    if (auto chosen = choose_task(*tasks, *prepared); !chosen) {
        return chosen.error();
    }
    return prepared;
}

std::shared_ptr<actors::run_order> make_order(const prepared_runs& prepared, const run_options& options,
                                              const config::run_config& run, actors::run_key key,
                                              attempt_number attempt) {
    auto order = std::make_shared<actors::run_order>();
    order->key = key;
    order->attempt = attempt;
    order->config = run;
    order->sandboxed = prepared.sandboxes != nullptr;
    order->prepare_only = options.prepare_only;
    order->reservation = prepared.limits.reservation;
    order->request.keep = options.keep;
    // A seed tells a run from its repeats as its index does, and from the same run with another seed.
    order->models = make_account_settings(options, run, fmt::format("{}-{}", key.cell, run.seed.value_or(key.index)));
    if (!run.backend_uri.empty() && !options.prepare_only) {
        const auto number = static_cast<std::uint32_t>(attempt);
        order->backend = {
            {run.backend_uri, prepared.backend.token, prepared.backend.ca_file},
            {fmt::format("{}-{}-{}-{}", prepared.backend.salt, key.cell, key.index, number), run.id.str(), number},
            backend::default_spool_folder()};
    }
    if (run.environment != config::noop_environment) { // which saves none
        order->artifacts_folder =
            run.transcript_file.parent_path() / (run.transcript_file.stem().string() + "_artifacts");
    }
    order->header = {.run_id = run.id.str(),
                     .attempt = static_cast<std::uint32_t>(attempt),
                     .environment = run.environment.string(),
                     .environment_digest = prepared.environment.digest,
                     .task = run.task.empty() ? prepared.task : run.task,
                     .agent = run.agent,
                     .model = run.agent == config::oracle_agent ? ""
                              : run.use_fake_model              ? "fake"
                                                                : run.model,
                     .runtime = prepared.sandboxes ? std::string(prepared.sandboxes->name()) : "none",
                     .chalk_version = CHALK_VERSION,
                     .config = config::to_json(run)};
    if (order->sandboxed) {
        auto& request = order->request;
        request.id = run.id;
        request.environment = prepared.environment;
        request.limits = prepared.limits.sandbox;
        request.rootfs = options.rootfs;
        request.mounts = prepared.mounts;
        order->config = with_sandbox_ports(std::move(order->config));
        request.student_network = student_network(order->config, prepared.reach);
        std::error_code ec;
        if (!options.prepare_only) {
            request.out_folder = fs::absolute(order->artifacts_folder, ec);
        }
        order->host_note = fmt::format(
            "sandbox: runtime {}, memory {} (student {}), disk {} (student {}), {} processes "
            "(student {})",
            order->header.runtime, format_size(request.limits.memory), format_size(request.limits.student_memory),
            format_size(request.limits.disk), format_size(request.limits.student_disk), request.limits.processes,
            request.limits.student_processes);
    }
    return order;
}

std::string plan_text(const prepared_runs& prepared, const run_options& options,
                      const std::vector<config::run_config>& runs) {
    std::string text;
    for (const auto& note : prepared.notes) {
        text += note + "\n";
    }
    text +=
        fmt::format("{} runs of {}, at most {} at once, runtime {}\n", runs.size(), prepared.base.environment.string(),
                    prepared.limits.at_once, prepared.sandboxes ? prepared.sandboxes->name() : "none");
    if (prepared.sandboxes) {
        const auto& limits = prepared.limits.sandbox;
        text += fmt::format("each sandbox: memory {} (student {}), disk {} (student {}), {} processes (student {})\n",
                            format_size(limits.memory), format_size(limits.student_memory), format_size(limits.disk),
                            format_size(limits.student_disk), limits.processes, limits.student_processes);
    }
    for (const auto& run : runs) {
        text += fmt::format("  {}  {}{}\n", run.id.str(), run.transcript_file.string(),
                            run.websocket_port ? fmt::format("  ws://127.0.0.1:{}/events", *run.websocket_port) : "");
    }
    if (options.overcommit > 1) {
        text += fmt::format("memory and cpus are over-committed {:.4g} times\n", options.overcommit);
    }
    return text;
}

} // namespace chalk::cli
