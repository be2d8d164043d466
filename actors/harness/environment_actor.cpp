#include "actors/harness/environment_actor.hpp"

#include "actors/harness/environment_process.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/defaults.hpp"
#include "config/environment_manifest.hpp"
#include "protocol/core/hand_on.hpp"
#include "protocol/core/sandbox_layout.hpp"

#include <fmt/format.h>

#include <cstdlib>

namespace chalk::actors {

/// The host runs, but is of no use: it failed to initialize.
struct host_unfit {
    failure why;
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::host_unfit)

namespace chalk::actors {

namespace {

namespace defaults = config::defaults;

constexpr const char* search_path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment as the process behind it sees it: calls, and its end.
using environment_core = environment_actor::extend<
    /// The host is gone.
    caf::reacts_to<environment_ended>,
    /// The host has to go.
    caf::reacts_to<host_unfit>>;

struct host_state {
    host_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    std::shared_ptr<environment_process> process;
    environment_owner owner;
    bool owner_knows = false; ///< that the environment is ending
    bool stopping = false;
    bool host_gone = false;
    static constexpr const char* name = "environment";
};

class environment_host : public environment_core::stateful_base<host_state> {
  public:
    environment_host(caf::actor_config& cfg, boost::asio::io_context& io, environment_launch launch,
                     environment_owner owner)
        : environment_core::stateful_base<host_state>(cfg), io_(io), launch_(std::move(launch)) {
        state.owner = std::move(owner);
    }

    behavior_type make_behavior() override {
        start();
        return {
            [this](const call_environment& m) { call(m); },
            [this](const stop_environment& m) { stop(m.orderly); },
            [this](const environment_ended& m) { ended(m.why); },
            [this](const host_unfit& m) { unfit(m.why); },
        };
    }

  private:
    void start() {
        auto command = host_command(launch_);
        if (!command) {
            tell_owner(command.error());
            return;
        }
        const weak_handle<environment_core> self{environment_core(this)};
        const weak_handle<environment_owner> to_owner{state.owner};
        environment_process_handlers on;
        on.on_log = [to_owner](log_line line) { to_owner.send(environment_logged{std::move(line)}); };
        on.on_ended = [self](failure why) { self.send(environment_ended{std::move(why)}); };
        state.process = environment_process::start(io_, std::move(*command), std::move(on));
        state.process->call(
            "initialize",
            {{"protocol", environment::protocol_version},
             {"chalk_version", CHALK_VERSION},
             {"paths", environment_paths(launch_.places)}},
            defaults::environment_start, [self](const environment::call_result& answer) { initialized(self, answer); },
            nullptr);
    }

    static void initialized(const weak_handle<environment_core>& self, const environment::call_result& answer) {
        if (answer) {
            const auto version = answer->is_object() ? answer->value("protocol", json(nullptr)) : json(nullptr);
            if (version != environment::protocol_version) {
                self.send(host_unfit{task_failure(
                    fmt::format("initialize: the environment host speaks protocol {}, this chalk speaks {}",
                                version.dump(), environment::protocol_version))});
            }
            return;
        }
        switch (answer.error().kind) {
        case environment::call_error_kind::closed:
            break; // the process's end is reported with more detail
        case environment::call_error_kind::timeout:
            self.send(host_unfit{timeout_failure("initialize: " + answer.error().message)});
            break;
        case environment::call_error_kind::protocol:
            self.send(host_unfit{task_failure(
                fmt::format("initialize: the environment host broke the protocol: {}", answer.error().message))});
            break;
        case environment::call_error_kind::remote:
            self.send(host_unfit{
                task_failure(fmt::format("initialize: {}\n{}", answer.error().message, answer.error().details))});
            break;
        }
    }

    void call(const call_environment& m) {
        if (!state.process) {
            send(m.reply_to, environment_answered{m.number, environment::call_error{}});
            return;
        }
        json params = m.params;
        if (m.transcript) {
            params["transcript"] = m.transcript();
        }
        state.process->call(
            m.method, std::move(params), m.deadline,
            [number = m.number, to = weak_handle<environment_user>(m.reply_to)](environment::call_result answer) {
                to.send(environment_answered{number, std::move(answer)});
            },
            m.report);
    }

    void stop(bool orderly) {
        state.owner_knows = true;
        state.stopping = true;
        if (!state.process || state.host_gone) {
            quit();
            return;
        }
        state.process->stop(orderly);
    }

    void ended(const failure& why) {
        state.host_gone = true;
        tell_owner(why);
        if (state.stopping) {
            quit();
        }
    }

    void unfit(const failure& why) {
        tell_owner(why);
        state.process->stop(false);
    }

    void tell_owner(const failure& why) {
        if (!std::exchange(state.owner_knows, true)) {
            send(state.owner, environment_ended{why});
        }
    }

    boost::asio::io_context& io_;
    environment_launch launch_;
};

std::string joined(const std::vector<int>& numbers) {
    return fmt::format("{}", fmt::join(numbers, ","));
}

} // namespace

environment_launch launch_of(const harness_options& options) {
    return {options.places, options.student, options.config.id.str(), options.config.seed};
}

std::optional<seconds> step_time_of(const harness_options& options) {
    if (options.config.limit.max_time || options.config.environment == config::noop_environment) {
        return std::nullopt;
    }
    const auto manifest = config::load_environment_manifest(options.places.environment);
    return manifest ? manifest->step_time : std::nullopt;
}

json environment_paths(const harness_places& places) {
    return {{"workdir", places.workdir.string()},
            {"student_data", (places.workdir / "data").string()},
            {"shared_data", (places.workdir / "shared").string()},
            {"root_data", places.root_data.string()},
            {"intermediate_data", places.intermediate_data.string()},
            {"out", places.out.string()},
            {"environment", places.environment.string()}};
}

result<process::command> host_command(const environment_launch& launch) {
    auto manifest = config::load_environment_manifest(launch.places.environment);
    if (!manifest) {
        return manifest.error();
    }
    process::command command;
    if (manifest->command.empty()) {
        command.executable = "python3";
        command.arguments = {"-m", "chalk.host"};
    } else {
        command.executable = manifest->command.front();
        command.arguments.assign(manifest->command.begin() + 1, manifest->command.end());
        if (command.executable.find('/') != std::string::npos) {
            // Relative to the environment's folder; an absolute one replaces it.
            command.executable = (launch.places.environment / command.executable).string();
        }
    }
    command.working_directory = launch.places.environment.string();
    command.environment = {fmt::format("PATH={}", search_path), "HOME=/root", "LANG=C.UTF-8",
                           "PYTHONDONTWRITEBYTECODE=1", fmt::format("PYTHONPATH={}", launch.places.python.string())};
    if (!launch.run.empty()) {
        command.environment.push_back("CHALK_RUN_ID=" + launch.run);
    }
    hand_on("LOGURU_LEVEL", command.environment);
    if (launch.seed) {
        command.environment.push_back(fmt::format("CHALK_SEED={}", *launch.seed));
    }
    if (launch.places.environment == sandbox_layout::environment) {
        // The runtime's word on what is in force, for `chalk check confinement`. Without a sandbox these are the
        // caller's wishes, and nothing holds them.
        for (const char* name : {"CHALK_SANDBOX_MEMORY_BYTES", "CHALK_STUDENT_NETWORK"}) {
            if (const char* value = std::getenv(name); value != nullptr) {
                command.environment.push_back(fmt::format("{}={}", name, value));
            }
        }
    }
    // The environment runs student code too (run_as_student): it needs the way into the student's groups.
    const auto& procs = launch.student.cgroup.procs;
    if (!procs.empty()) {
        command.environment.push_back("CHALK_STUDENT_CGROUP_PROCS=" + joined(procs));
        for (const int fd : procs) {
            command.descriptors.push_back({fd, fd});
        }
    }
    return command;
}

environment_actor spawn_environment(caf::local_actor* self, boost::asio::io_context& io, environment_launch launch,
                                    environment_owner owner) {
    return self->spawn<environment_host, caf::linked>(io, std::move(launch), std::move(owner));
}

} // namespace chalk::actors
