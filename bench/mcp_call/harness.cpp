// The same call over all of a run's way: the tool server actor, the environment actor, and an environment host, which
// is this program again as a process of its own, and answers whatever it is asked.
//
// Usage: chalk-bench-mcp-harness [COUNT]    prints {"p50_us":..,"p99_us":..,"mean_us":..}
#include "actors/harness/environment_actor.hpp"
#include "actors/harness/tool_server.hpp"
#include "actors/system.hpp"
#include "bench/mcp_call/raw_client.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/net/io_thread.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>

using namespace chalk;
using namespace chalk::actors;
namespace fs = std::filesystem;

namespace {

/// docs/protocols/environment.md, of which it reads no more than the id.
int be_environment_host() {
    std::string line;
    while (std::getline(std::cin, line)) {
        const auto message = json::parse(line);
        const json result = {{"protocol", 1},
                             {"sdk", "bench"},
                             {"content", {{{"type", "text"}, {"text", "nothing"}}}},
                             {"is_error", false}};
        std::cout << json{{"jsonrpc", "2.0"}, {"id", message["id"]}, {"result", result}}.dump() << std::endl;
    }
    return 0;
}

environment_owner::behavior_type environment_owner_of() {
    return {[](const environment_ended& m) { bench::die(m.why.message); }, [](const environment_logged&) {}};
}

tool_server_owner::behavior_type tools_owner_of(tool_server_owner::pointer, std::promise<std::uint16_t>* port,
                                                std::promise<void>* registered) {
    return {[port](const tools_listening& m) { port->set_value(m.port); },
            [registered](const tools_registered&) { registered->set_value(); },
            [](const tool_trouble& m) { bench::die(m.why.message); },
            [](const tool_logged&) {},
            [](const tool_used&) {},
            [](const student_stopped&) {}};
}

json measure_harness(const fs::path& folder, int count) {
    io_thread io;
    actor_system_settings settings({2, true});
    caf::actor_system system(settings);
    caf::scoped_actor self(system);
    std::promise<std::uint16_t> port;
    std::promise<void> registered;
    environment_launch launch;
    launch.places.environment = folder;
    launch.manifest = config::load_environment_manifest(folder);
    const auto environment_told = self->spawn(environment_owner_of);
    const auto environment = spawn_environment(self.ptr(), io.context(), launch, environment_told);
    const auto tools_told = self->spawn(tools_owner_of, &port, &registered);
    tool_server_options options;
    options.bearer_token = random_token();
    const auto tools = spawn_tool_server(self.ptr(), io.context(), options, environment, tools_told);
    const json nothing = {{"name", "nothing"}, {"description", "does nothing"}, {"input_schema", {{"type", "object"}}}};
    self->send(tools, register_tools{json::array({nothing}), {}});
    registered.get_future().wait();
    auto measured = bench::measure(port.get_future().get(), options.bearer_token, count);
    for (const auto& actor : {caf::actor_cast<caf::actor>(tools), caf::actor_cast<caf::actor>(environment),
                              caf::actor_cast<caf::actor>(tools_told), caf::actor_cast<caf::actor>(environment_told)}) {
        self->unlink_from(actor);
        self->send_exit(actor, caf::exit_reason::user_shutdown);
        self->wait_for(actor);
    }
    return measured;
}

} // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string_view(argv[1]) == "--host") {
        return be_environment_host();
    }
    const int count = bench::count_of(argc, argv);
    auto name = (fs::temp_directory_path() / "chalk-bench-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
        bench::die("mkdtemp failed");
    }
    std::ofstream(fs::path(name) / "pyproject.toml")
        << fmt::format("[tool.chalk]\ncommand = [\"{}\", \"--host\"]\n", fs::read_symlink("/proc/self/exe").string());
    const auto measured = measure_harness(name, count);
    fs::remove_all(name);
    fmt::print("{}\n", dump_json(measured));
    return 0;
}
