// The tool server as an MCP client sees it, over environment hosts that do not behave.

#include "actors/harness/tool_server.hpp"

#include "actors/harness/environment_actor.hpp"
#include "actors/system.hpp"
#include "tests/support/mcp_client.hpp"

#include <filesystem>
#include <fstream>
#include <future>

using namespace chalk;
using namespace chalk::actors;
using mcp::test::client;
namespace fs = std::filesystem;

namespace {

environment_owner::behavior_type environment_owner_of() {
    return {[](const environment_ended&) {}, [](const environment_logged&) {}};
}

tool_server_owner::behavior_type tools_owner_of(tool_server_owner::pointer, std::promise<std::uint16_t>* port,
                                                std::promise<void>* registered) {
    return {[port](const tools_listening& m) { port->set_value(m.port); },
            [registered](const tools_registered&) { registered->set_value(); },
            [](const tool_trouble& m) { FAIL(m.why.message); }, [](const tool_logged&) {}, [](const tool_used&) {}};
}

/// Two tools of a host that is a shell script: "patient" has a minute, "hasty" a fifth of a second.
class tools_of_script {
  public:
    explicit tools_of_script(const std::string& script) : settings_({2, true}), system_(settings_), self_(system_) {
        auto name = (fs::temp_directory_path() / "chalk-test-tools-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder_ = name;
        std::ofstream(folder_ / "pyproject.toml") << "[tool.chalk]\ncommand = [\"/bin/sh\", \"host.sh\"]\n";
        std::ofstream(folder_ / "host.sh") << "read line\n"
                                              "echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":1,"
                                              "\"sdk\":\"sh\"}}'\n" +
                                                  script;
        environment_launch launch;
        launch.places.environment = folder_;
        const auto environment_told = self_->spawn(environment_owner_of);
        const auto environment = spawn_environment(self_.ptr(), io_.context(), launch, environment_told);
        std::promise<std::uint16_t> port;
        std::promise<void> registered;
        const auto tools_told = self_->spawn(tools_owner_of, &port, &registered);
        const auto tools = spawn_tool_server(self_.ptr(), io_.context(), {}, environment, tools_told);
        actors_ = {caf::actor_cast<caf::actor>(tools), caf::actor_cast<caf::actor>(environment),
                   caf::actor_cast<caf::actor>(tools_told), caf::actor_cast<caf::actor>(environment_told)};
        self_->send(tools, register_tools{json::array({tool("patient", 60), tool("hasty", 0.2)}), {}});
        auto told = registered.get_future();
        auto number = port.get_future();
        REQUIRE(told.wait_for(seconds(30)) == std::future_status::ready);
        REQUIRE(number.wait_for(seconds(30)) == std::future_status::ready);
        mcp = std::make_unique<client>(number.get());
        mcp->initialize();
    }
    tools_of_script(const tools_of_script&) = delete;
    tools_of_script& operator=(const tools_of_script&) = delete;
    ~tools_of_script() {
        for (const auto& actor : actors_) {
            self_->unlink_from(actor); // its end is no reason for the test's
            self_->send_exit(actor, caf::exit_reason::user_shutdown);
            self_->wait_for(actor);
        }
        fs::remove_all(folder_);
    }

    std::unique_ptr<client> mcp;

  private:
    static json tool(const char* name, double timeout_s) {
        return {{"name", name},
                {"description", "does not behave"},
                {"input_schema", {{"type", "object"}}},
                {"timeout_s", timeout_s}};
    }

    fs::path folder_;
    io_thread io_;
    actor_system_settings settings_;
    caf::actor_system system_;
    caf::scoped_actor self_;
    std::vector<caf::actor> actors_;
};

void check_error(const mcp::test::answer& got, const char* part) {
    INFO(got.body.dump());
    CHECK(got.status == 200);
    CHECK(got.body["result"]["isError"] == true);
    CHECK(got.body["result"]["content"][0]["text"].get<std::string>().find(part) != std::string::npos);
}

} // namespace

TEST_CASE("an MCP client gets an error result when the environment host hangs", "[tool_server]") {
    tools_of_script tools("read line\nexec sleep 1000\n");
    check_error(tools.mcp->ask(client::call(1, "hasty")), "no answer in time");
    // It still hangs; the next call has a deadline of its own.
    check_error(tools.mcp->ask(client::call(2, "hasty")), "no answer in time");
}

TEST_CASE("an MCP client gets an error result when the environment host dies, and after it", "[tool_server]") {
    tools_of_script tools("read line\nexit 3\n");
    check_error(tools.mcp->ask(client::call(1, "patient")), "the environment ended");
    check_error(tools.mcp->ask(client::call(2, "patient")), "the environment ended");
}
