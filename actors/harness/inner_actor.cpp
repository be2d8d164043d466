#include "actors/harness/inner_actor.hpp"

#include "actors/harness/environment_actor.hpp"
#include "actors/harness/environment_answers.hpp"
#include "actors/harness/environment_errors.hpp"
#include "actors/harness/noop_environment.hpp"
#include "actors/harness/weak_handle.hpp"
#include "config/defaults.hpp"
#include "runtimes/confinement/secrets.hpp"

#include <fmt/format.h>

#include <unistd.h>

namespace chalk::actors {

namespace {

struct inner_state {
    inner_state() = default; // no aggregate, or CAF would hand it the actor as its first member
    std::shared_ptr<host_channel::channel> channel;
    harness_actor harness;
    environment_actor environment; ///< in mode describe
    bool started = false;
    bool held = false; ///< the agent waits for the channel
    bool final_sent = false;
    std::uint64_t last_seq = 0;
    std::function<void(inner_end)> ended;
    static constexpr const char* name = "inner harness";

    inner_state(const inner_state&) = delete;
    inner_state& operator=(const inner_state&) = delete;
    /// Whatever the actor dies of, the process must not wait for it.
    ~inner_state() {
        if (ended) {
            ended({final_sent, "the root of the harness died"});
        }
    }
};

confinement::student_settings settings_of(const host_channel::student_description& student, std::string file_tool) {
    confinement::student_settings settings;
    if (::geteuid() == 0) {
        settings.become = process::identity{student.uid, student.gid};
    }
    settings.home = student.home;
    settings.working_directory = student.home;
    settings.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=" + student.home,
                            "LANG=C.UTF-8"};
    const auto more =
        confinement::without_secrets(student.environment, {}); // plugins' names are the host's to leave out
    settings.environment.insert(settings.environment.end(), more.begin(), more.end());
    settings.cgroup = {student.cgroup_procs, student.cgroup_calls_folder, student.cgroup_v2};
    settings.file_tool = std::move(file_tool);
    return settings;
}

class inner : public inner_actor::stateful_base<inner_state> {
  public:
    inner(caf::actor_config& cfg, boost::asio::io_context& io, int channel_fd, inner_options options,
          std::function<void(inner_end)> ended)
        : inner_actor::stateful_base<inner_state>(cfg), io_(io), fd_(channel_fd), options_(std::move(options)) {
        state.ended = std::move(ended);
    }

    behavior_type make_behavior() override {
        set_down_handler([this](const caf::down_msg& m) { harness_ended(m); });
        set_exit_handler([this](const caf::exit_msg& m) { environment_gone(m); }); // nobody else sends any
        open();
        return {
            [this](const events_recorded& m) {
                for (const auto& one : m.events) {
                    record(*one);
                }
            },
            [this](const run_prepared&) { say(host_channel::to_line(host_channel::prepared{})); },
            [this](const host_said& m) { obey(m.message); },
            [this](const host_gone&) { end("the host is gone"); },
            [this](const host_caught_up&) { caught_up(); },
            [this](const environment_answered& m) { described(m.answer); },
            [this](const environment_ended& m) { fail(m.why); },
            [this](const environment_logged& m) { say_event(m.line); },
        };
    }

  private:
    void open() {
        const weak_handle<inner_actor> self{inner_actor(this)};
        host_channel::channel_handlers on;
        on.on_line = [self](std::string_view line) { self.send(host_said{host_channel::parse_host_message(line)}); };
        on.on_end = [self](const std::optional<failure>&) { self.send(host_gone{}); };
        on.on_drained = [self] { self.send(host_caught_up{}); };
        auto opened = host_channel::channel::open(io_, unique_fd(fd_), std::move(on));
        if (!opened) {
            end(opened.error().message);
            return;
        }
        state.channel = std::move(*opened);
    }

    void obey(const result<host_channel::host_message>& message) {
        if (!message) {
            fail(message.error());
        } else if (const auto* start = std::get_if<host_channel::start>(&*message)) {
            begin(*start);
        } else {
            cancel(std::get<host_channel::cancel>(*message));
        }
    }

    void begin(const host_channel::start& start) {
        if (std::exchange(state.started, true)) {
            fail(harness_failure("host channel: a second Start"));
            return;
        }
        auto text = start.config;
        if (text.value("environment", json()) != config::noop_environment) {
            text["environment"] = options_.places.environment.string(); // the host's path means nothing in here
        }
        auto config = config::load_run_config(text.dump(), {});
        if (!config) {
            fail(config.error());
            return;
        }
        harness_options options;
        options.config = std::move(config->config);
        options.places = options_.places;
        options.student = settings_of(start.student, options_.file_tool);
        options.prepare_only = start.mode == host_channel::harness_mode::prepare;
        options.confinement_note = start.student.confinement_note;
        if (options.student.cgroup.procs.empty() && options_.own_groups) {
            for (const auto& group : options_.own_groups->student_procs) {
                options.student.cgroup.procs.push_back(group.get());
            }
            options.student.cgroup.v2 = options_.own_groups->v2;
            options.confinement_note += "; " + options_.own_groups->note;
        }
        options.watched_disk = start.student.watched_disk;
        options.firewall.description = start.student.firewall;
        options.firewall.student = start.student.uid;
        options.gateway_socket = start.model_socket;
        if (start.mode == host_channel::harness_mode::describe) {
            describe(options);
            return;
        }
        state.harness = spawn_harness(this, io_, std::move(options), event_sink(inner_actor(this)));
        monitor(state.harness);
    }

    void describe(const harness_options& options) {
        if (options.config.environment == config::noop_environment) {
            described(noop_environment().answer("list_tasks", json::object()));
            return;
        }
        state.environment = spawn_environment(this, io_, launch_of(options), environment_owner(inner_actor(this)));
        send(state.environment, call_environment{1, "list_tasks", json::object(), config::defaults::environment_query,
                                                 environment_user(inner_actor(this))});
    }

    void described(const environment::call_result& answer) {
        if (!answer) {
            // Of a closed stream environment_ended says more.
            if (auto trouble = trouble_of("list_tasks", answer.error())) {
                fail(trouble->why, std::move(trouble->details));
            }
            return;
        }
        auto tasks = described_tasks(*answer);
        if (!tasks) {
            fail(tasks.error());
            return;
        }
        if (!std::exchange(state.final_sent, true)) {
            say(host_channel::to_line(*tasks));
            if (!state.environment) {
                end({});
                return;
            }
            send(state.environment, stop_environment{true}); // its end is the process's
        }
    }

    void cancel(const host_channel::cancel& m) {
        if (state.harness) {
            send(state.harness, cancel_run{m.reason});
            return;
        }
        say_final(run_cancelled{m.reason});
        end({});
    }

    void record(const event& next) {
        state.last_seq = next.seq;
        state.final_sent = state.final_sent || is_final(next.body);
        say(to_line(next));
        if (!state.held && state.harness && !state.channel->writable()) {
            state.held = true;
            send(state.harness, event_flow{false});
        }
    }

    void caught_up() {
        if (std::exchange(state.held, false) && state.harness) {
            send(state.harness, event_flow{true});
        }
    }

    void environment_gone(const caf::exit_msg& m) {
        if (state.environment && m.source == state.environment.address()) {
            end({});
        }
    }

    void harness_ended(const caf::down_msg& m) {
        if (!state.harness || m.source != state.harness.address()) {
            return;
        }
        say_final(run_failed{error_class::harness,
                             fmt::format("the harness died before the run's end: {}", system().render(m.reason)),
                             {}});
        end({});
    }

    /// What went wrong before there was a harness, or beside it.
    void fail(const failure& why, std::string details = {}) {
        say_final(run_failed{why.kind, why.message, std::move(details)});
        end({});
    }

    void say(std::string line) {
        if (state.channel) {
            state.channel->send(std::move(line));
        }
    }

    void say_event(event_body body) {
        say(to_line(event{++state.last_seq, std::chrono::system_clock::now(), std::move(body)}));
    }

    /// Unless there was one.
    void say_final(event_body body) {
        if (!std::exchange(state.final_sent, true)) {
            say_event(std::move(body));
        }
    }

    /// What is queued still goes out; then the process may end. `why` is set when that makes no sense any more.
    void end(std::string why) {
        if (!state.ended) {
            return;
        }
        auto ended = std::exchange(state.ended, nullptr);
        const inner_end how{state.final_sent, why};
        if (state.harness) {
            send_exit(state.harness, caf::exit_reason::kill);
        }
        if (state.environment) {
            send_exit(state.environment, caf::exit_reason::kill);
        }
        if (state.channel && why.empty()) {
            // The callback holds the channel until all is written.
            auto channel = state.channel;
            channel->finish([channel, ended, how] { ended(how); });
        } else {
            ended(how);
        }
        quit();
    }

    boost::asio::io_context& io_;
    int fd_;
    inner_options options_;
};

} // namespace

inner_actor spawn_inner(caf::actor_system& system, boost::asio::io_context& io, unique_fd channel_fd,
                        inner_options options, std::function<void(inner_end)> ended) {
    return system.spawn<inner>(io, channel_fd.release(), std::move(options), std::move(ended));
}

} // namespace chalk::actors
