#include "actors/harness/tool_server.hpp"

#include "actors/harness/environment_answers.hpp"
#include "actors/harness/environment_errors.hpp"
#include "actors/harness/noop_environment.hpp"
#include "actors/harness/tool_registry.hpp"
#include "actors/harness/weak_handle.hpp"
#include "runtimes/confinement/builtin_tools.hpp"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <map>
#include <string_view>
#include <system_error>

#include <sys/random.h>

namespace chalk::actors {

namespace {

/// A call that somebody waits for.
struct open_call {
    std::string tool;
    std::function<void(mcp::tool_output)> reply;
    std::optional<std::uint64_t> http_number;
    std::optional<std::uint64_t> command;         ///< of student_commands, to cancel it
    std::shared_ptr<mcp::call_reporter> reporter; ///< null: nobody listens
};

/// A client of the step that is over, or a forged one.
constexpr const char* between_steps = "no step is under way: tools cannot be called now";

/// What a running tool says goes to the MCP client that called it, on the io thread and past the actor: it is nobody
/// else's.
environment::report_handler report_to(std::shared_ptr<mcp::call_reporter> client) {
    if (!client) {
        return nullptr;
    }
    return [client = std::move(client)](const environment::call_report& what) {
        if (const auto* progress = std::get_if<environment::tool_progress>(&what)) {
            client->progress(progress->done, progress->total, progress->message);
        } else {
            const auto& line = std::get<log_line>(what);
            client->log(line.level, line.text);
        }
    };
}

struct tool_server_state {
    tool_server_owner owner;
    environment_actor environment;
    tool_registry registry;
    std::shared_ptr<mcp::server> server;
    std::shared_ptr<confinement::student_commands> commands;
    std::shared_ptr<confinement::builtin_tools> builtin;
    std::map<std::uint64_t, open_call> open;
    std::uint64_t last_number = 0;
    bool closed = false; ///< no step's work is under way
    static constexpr const char* name = "tool server";

    tool_server_state() = default;
    tool_server_state(const tool_server_state&) = delete;
    tool_server_state& operator=(const tool_server_state&) = delete;
    ~tool_server_state() {
        if (server) {
            server->close();
        }
        if (commands) {
            commands->kill_all();
        }
    }
};

class tool_server : public tool_server_actor::stateful_base<tool_server_state> {
  public:
    tool_server(caf::actor_config& cfg, boost::asio::io_context& io, tool_server_options options,
                environment_actor environment, tool_server_owner owner)
        : tool_server_actor::stateful_base<tool_server_state>(cfg), io_(io), options_(std::move(options)) {
        state.environment = std::move(environment);
        state.owner = std::move(owner);
    }

    behavior_type make_behavior() override {
        listen();
        return {
            [this](const register_tools& m) { take(m); },
            [this](const call_tool& m) { call(m); },
            [this](const tool_requested& m) { call(m); },
            [this](const tool_request_dropped& m) { drop(m.number); },
            [this](const builtin_tool_finished& m) { finish(m.number, m.output); },
            [this](const open_tools&) { state.closed = false; },
            [this](const close_tools&) { close(); },
            [this](const student_stopped& m) { send(state.owner, m); },
            [this](const environment_answered& m) { answered(m); },
        };
    }

  private:
    void listen() {
        if (!options_.listens) {
            send(state.owner, tools_listening{0});
            return;
        }
        const weak_handle<tool_server_actor> self{tool_server_actor(this)};
        mcp::server_handlers on;
        on.on_call = [self](mcp::call_request request, std::function<void(mcp::tool_output)> reply) {
            if (!self.send(tool_requested{std::move(request), reply})) {
                reply(mcp::tool_output::text("the run has ended", true));
            }
        };
        on.on_cancel = [self](std::uint64_t number) { self.send(tool_request_dropped{number}); };
        auto listening = mcp::server::listen(io_, {options_.address.host, options_.address.port, options_.bearer_token},
                                             std::move(on));
        if (!listening) {
            send(state.owner, tool_trouble{listening.error()});
            return;
        }
        state.server = std::move(*listening);
        send(state.owner, tools_listening{state.server->port()});
    }

    void take(const register_tools& m) {
        auto registry = tool_registry::make(m.tools, m.builtin);
        if (!registry) {
            send(state.owner, tool_trouble{registry.error()});
            return;
        }
        if (registry->has_builtin()) {
            state.commands = confinement::student_commands::make(io_, options_.student);
            auto builtin = confinement::builtin_tools::make(state.commands);
            if (!builtin) {
                send(state.owner, tool_trouble{builtin.error()});
                return;
            }
            state.builtin = std::move(*builtin);
        }
        state.registry = std::move(*registry);
        auto specs = std::make_shared<std::vector<mcp::tool_spec>>(state.registry.specs());
        if (state.server) {
            state.server->set_tools(*specs);
        }
        send(state.owner, tools_registered{std::move(specs)});
    }

    /// The builtin agent's: arguments are whatever the model wrote.
    void call(const call_tool& m) {
        const auto began = clock().now();
        auto reply = [this, to = m.reply_to, id = m.call.id, began](mcp::tool_output output) {
            const auto took = std::chrono::duration_cast<milliseconds>(clock().now() - began);
            send(to, tool_finished{id, std::move(output), took});
        };
        auto tool = state.registry.find(m.call);
        if (!tool) {
            reply(tool.error());
            return;
        }
        start(**tool, m.call.arguments, {m.call.name, std::move(reply), std::nullopt, std::nullopt, nullptr});
    }

    /// An MCP client's: the server has checked the arguments.
    void call(const tool_requested& m) {
        if (state.closed) {
            m.reply(mcp::tool_output::text(between_steps, true));
            return;
        }
        const auto* tool = state.registry.find(m.request.name);
        if (tool == nullptr) {
            m.reply(mcp::tool_output::text(fmt::format("there is no tool \"{}\"", m.request.name), true));
            return;
        }
        auto reply = m.reply;
        if (options_.record_clients) {
            reply = [this, reply = m.reply, began = clock().now(),
                     call = tool_call{fmt::format("mcp-{}", m.request.number), m.request.name, m.request.arguments}](
                        const mcp::tool_output& output) {
                const auto took = std::chrono::duration_cast<milliseconds>(clock().now() - began);
                send(state.owner,
                     tool_used{call, {call.id, call.name, output.as_text(), output.is_error, output.truncated, took}});
                reply(output);
            };
        }
        start(*tool, m.request.arguments,
              {m.request.name, std::move(reply), m.request.number, std::nullopt, m.request.reporter});
    }

    void start(const tool_registry::entry& tool, const json& arguments, open_call call) {
        const auto number = ++state.last_number;
        auto& open = state.open.emplace(number, std::move(call)).first->second;
        if (!tool.builtin) {
            json params = {{"name", tool.spec.name}, {"arguments", arguments}};
            if (state.environment) {
                send(state.environment,
                     call_environment{number, "call_tool", std::move(params), tool.timeout,
                                      environment_user(tool_server_actor(this)), report_to(open.reporter)});
            } else {
                answered({number, noop_environment().answer("call_tool", params)});
            }
            return;
        }
        const weak_handle<tool_server_actor> self{tool_server_actor(this)};
        open.command = state.builtin->run(tool.spec.name, arguments, [self, number](result<mcp::tool_output> output) {
            self.send(builtin_tool_finished{number, output ? std::move(*output)
                                                           : mcp::tool_output::text(output.error().message, true)});
        });
    }

    void answered(const environment_answered& m) {
        const auto found = state.open.find(m.number);
        if (found == state.open.end()) {
            return; // dropped by its client
        }
        const auto& tool = found->second.tool;
        if (!m.answer) {
            const auto& why = m.answer.error();
            if (!why.details.empty()) {
                // For the environment's author; the model gets the message alone.
                send(state.owner, tool_logged{{log_level::warning, "environment", why.details}});
            }
            finish(m.number, tool_output_of(tool, why));
            return;
        }
        auto output = tool_output_of(*m.answer);
        finish(m.number, output
                             ? std::move(*output)
                             : mcp::tool_output::text(fmt::format("tool {}: {}", tool, output.error().message), true));
    }

    void finish(std::uint64_t number, mcp::tool_output output) {
        if (auto open = state.open.extract(number)) {
            open.mapped().reply(std::move(output));
        }
    }

    /// Calls of clients end with the step. The builtin agent has none open by then.
    void close() {
        state.closed = true;
        std::vector<std::uint64_t> numbers;
        for (const auto& [number, call] : state.open) {
            numbers.push_back(number);
        }
        for (const auto number : numbers) {
            finish(number, mcp::tool_output::text("the step is over", true));
        }
        if (!state.commands) {
            send(state.owner, student_stopped{});
            return;
        }
        state.commands->kill_all([self = weak_handle<tool_server_actor>{tool_server_actor(this)}](
                                     confinement::kill_report report) { self.send(student_stopped{report}); });
    }

    void drop(std::uint64_t http_number) {
        for (auto it = state.open.begin(); it != state.open.end(); ++it) {
            if (it->second.http_number == http_number) {
                if (it->second.command && state.commands) {
                    state.commands->cancel(*it->second.command);
                }
                state.open.erase(it);
                return;
            }
        }
    }

    boost::asio::io_context& io_;
    tool_server_options options_;
};

} // namespace

std::string random_token() {
    std::array<unsigned char, 32> random{};
    if (::getrandom(random.data(), random.size(), 0) != static_cast<ssize_t>(random.size())) {
        throw std::system_error(errno, std::generic_category(), "getrandom");
    }
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text;
    text.reserve(2 * random.size());
    for (const auto byte : random) {
        text += digits[byte >> 4U];
        text += digits[byte & 15U];
    }
    return text;
}

tool_server_actor spawn_tool_server(caf::local_actor* self, boost::asio::io_context& io, tool_server_options options,
                                    environment_actor environment, tool_server_owner owner) {
    return self->spawn<tool_server, caf::linked>(io, std::move(options), std::move(environment), std::move(owner));
}

} // namespace chalk::actors
