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
                                                std::promise<void>* registered, std::promise<void>* stopped) {
    return {[port](const tools_listening& m) { port->set_value(m.port); },
            [registered](const tools_registered&) { registered->set_value(); },
            [](const tool_trouble& m) { FAIL(m.why.message); },
            [](const tool_logged&) {},
            [](const tool_used&) {},
            [stopped](const student_stopped&) { stopped->set_value(); }};
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
        launch.manifest = config::load_environment_manifest(folder_);
        const auto environment_told = self_->spawn(environment_owner_of);
        const auto environment = spawn_environment(self_.ptr(), io_.context(), launch, environment_told);
        std::promise<std::uint16_t> listening;
        std::promise<void> registered;
        const auto tools_told = self_->spawn(tools_owner_of, &listening, &registered, &stopped_);
        const auto tools = spawn_tool_server(self_.ptr(), io_.context(), {}, environment, tools_told);
        tools_ = tools;
        actors_ = {caf::actor_cast<caf::actor>(tools), caf::actor_cast<caf::actor>(environment),
                   caf::actor_cast<caf::actor>(tools_told), caf::actor_cast<caf::actor>(environment_told)};
        self_->send(tools, register_tools{json::array({tool("patient", 60), tool("hasty", 0.2)}), {}});
        auto told = registered.get_future();
        auto number = listening.get_future();
        REQUIRE(told.wait_for(seconds(30)) == std::future_status::ready);
        REQUIRE(number.wait_for(seconds(30)) == std::future_status::ready);
        port = number.get();
        mcp = std::make_unique<client>(port);
        mcp->initialize();
    }
    tools_of_script(const tools_of_script&) = delete;
    tools_of_script& operator=(const tools_of_script&) = delete;
    ~tools_of_script() {
        tools_ = nullptr;
        for (const auto& actor : actors_) {
            self_->unlink_from(actor); // its end is no reason for the test's
            self_->send_exit(actor, caf::exit_reason::user_shutdown);
            self_->wait_for(actor);
        }
        fs::remove_all(folder_);
    }

    void open() { self_->send(tools_, open_tools{}); }
    /// Returns when the student's processes are gone.
    void close() {
        stopped_ = {};
        self_->send(tools_, close_tools{});
        REQUIRE(stopped_.get_future().wait_for(seconds(30)) == std::future_status::ready);
    }

    std::uint16_t port = 0;
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
    std::promise<void> stopped_;
    tool_server_actor tools_;
    std::vector<caf::actor> actors_;
};

json call_with_progress(const char* tool) {
    auto call = client::call(1, tool);
    call["params"]["_meta"] = {{"progressToken", "p"}};
    return call;
}

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

TEST_CASE("what a tool says while it runs reaches the MCP client that asked to hear it", "[tool_server]") {
    tools_of_script tools(R"(read line
say() { echo "{\"jsonrpc\":\"2.0\",\"method\":\"$1\",\"params\":{\"call\":2,$2}}"; }
say progress '"done":1,"total":4,"message":"a quarter"'
say log '"level":"info","text":"too little"'
say log '"level":"warning","text":"hear, hear"'
echo '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"done"}],"is_error":false}}'
read line
)");
    REQUIRE(tools.mcp->ask("logging/setLevel", {{"level", "warning"}}).status == 200);
    tools.mcp->send(tools.mcp->post(call_with_progress("patient").dump()));
    const auto text = tools.mcp->receive_until("\r\n0\r\n\r\n");
    INFO(text);
    CHECK(text.find(R"("progressToken":"p")") != std::string::npos);
    CHECK(text.find(R"("message":"a quarter")") != std::string::npos);
    CHECK(text.find("hear, hear") != std::string::npos);
    CHECK(text.find("too little") == std::string::npos);
    CHECK(text.find(R"("text":"done")") > text.rfind("notifications/"));
}

TEST_CASE("between steps no tool can be called, and the calls of the step that is over end", "[tool_server]") {
    tools_of_script tools(R"(read line
echo '{"jsonrpc":"2.0","method":"progress","params":{"call":2,"done":1}}'
exec sleep 1000
)");
    tools.mcp->send(tools.mcp->post(call_with_progress("patient").dump()));
    (void)tools.mcp->receive_until("notifications/progress"); // so it is under way
    tools.close();
    CHECK(tools.mcp->receive_until("the step is over").find(R"("isError":true)") != std::string::npos);
    client other(tools.port);
    other.initialize();
    check_error(other.ask(client::call(3, "hasty")), "no step is under way");
    tools.open();
    check_error(other.ask(client::call(4, "hasty")), "no answer in time");
}
