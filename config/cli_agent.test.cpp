#include "config/cli_agent.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::config;

namespace {

const cli_agent_values values{"say \"{model}\"", "m-1",    "http://127.0.0.1:9", "none", "http://127.0.0.1:8/mcp",
                              "tok\"en",         "/home/x"};

const cli_agent& agent(std::string_view name) {
    const auto* found = find_cli_agent(name);
    REQUIRE(found != nullptr);
    return *found;
}

} // namespace

TEST_CASE("every embedded CLI agent can be read and is complete") {
    REQUIRE(cli_agents().size() == 4);
    REQUIRE(agent_names().size() == 7);
    CHECK(agent_names()[0] == "builtin");
    CHECK(agent_names()[1] == "oracle");
    CHECK(agent_names()[2] == "external");
    for (std::size_t i = 0; i < 4; ++i) {
        CHECK(agent_names()[i + 3] == cli_agents()[i].name);
    }
    for (const auto& one : cli_agents()) {
        INFO(one.name);
        CHECK_FALSE(one.install.empty());
        CHECK_FALSE(one.texts.empty());
        CHECK_FALSE(one.failures.empty());
        CHECK_FALSE(one.last.where.empty());
        const auto start = fill_in(one, values);
        CHECK(std::find(start.argv.begin(), start.argv.end(), values.prompt) != start.argv.end());
        std::string all;
        for (const auto& text : start.environment) {
            all += text + "\n";
        }
        for (const auto& [path, content] : start.files) {
            CHECK(path.starts_with("/home/x/"));
            all += content;
        }
        // The token where it is asked for, the gateway, and no placeholder left.
        CHECK(all.find("tok") != std::string::npos);
        CHECK(all.find("http://127.0.0.1:9") != std::string::npos);
        for (const char* name : {"{model}", "{gateway}", "{key}", "{mcp}", "{mcp_token}", "{home}"}) {
            CHECK(all.find(name) == std::string::npos);
        }
    }
    CHECK(find_cli_agent("builtin") == nullptr);
}

TEST_CASE("what is put into a JSON file is quoted, and the prompt is not looked into") {
    const auto start = fill_in(agent("claude-code"), values);
    const auto file = json::parse(start.files.at("/home/x/mcp.json"));
    CHECK(file["mcpServers"]["chalk"]["headers"]["Authorization"] == "Bearer tok\"en");
    CHECK(start.argv.at(2) == "say \"{model}\"");
}

TEST_CASE("output lines tell what was said, which tools were used and what failed") {
    const auto& claude = agent("claude-code");
    auto line = read_line(claude, R"({"type":"assistant","message":{"content":[{"type":"text","text":"Hi."},)"
                                  R"({"type":"tool_use","name":"mcp__chalk__add"}]}})");
    CHECK(line.texts == std::vector<std::string>{"Hi."});
    CHECK(line.uses == std::vector<std::string>{"mcp__chalk__add"});
    CHECK(line.failures.empty());
    CHECK_FALSE(line.last);

    line = read_line(claude, R"({"type":"result","subtype":"success","is_error":true,"result":"API Error: 500"})");
    CHECK(line.failures == std::vector<std::string>{"API Error: 500"});
    CHECK(line.last);

    line =
        read_line(claude, R"({"type":"system","subtype":"init","mcp_servers":[{"name":"chalk","status":"failed"}]})");
    CHECK(line.failures == std::vector<std::string>{"cannot reach the tool server: chalk"});

    const auto& gemini = agent("gemini-cli");
    line = read_line(gemini, R"({"type":"message","role":"assistant","content":"Hi","delta":true})");
    CHECK(line.texts == std::vector<std::string>{"Hi"});
    CHECK(line.in_pieces);
    line = read_line(gemini, R"({"type":"tool_use","tool_name":"mcp_chalk_add"})");
    CHECK(line.uses == std::vector<std::string>{"mcp_chalk_add"});
    CHECK_FALSE(line.in_pieces);
    line = read_line(gemini, R"({"type":"result","status":"error","error":{"message":"[API Error: 500]"}})");
    CHECK(line.failures == std::vector<std::string>{"[API Error: 500]"});
    CHECK(line.last);

    CHECK_FALSE(read_line(claude, "not json").understood);
    CHECK_FALSE(read_line(claude, "[1]").understood);
    CHECK(read_line(claude, R"({"type":"assistant","message":{"content":"text"}})").texts.empty());
}

TEST_CASE("a line that is nested a million deep is not understood, and ends nobody") {
    std::string deep(1'000'000, '[');
    deep += std::string(deep.size(), ']');
    for (const auto& one : cli_agents()) {
        INFO(one.name);
        const auto line = read_line(one, R"({"type":"result","is_error":true,"result":)" + deep + "}");
        CHECK_FALSE(line.understood);
        CHECK(line.failures.empty());
        CHECK_FALSE(line.last);
    }
}

TEST_CASE("a description that lacks something says what") {
    const auto bad = parse_cli_agent(R"({"name":"x"})");
    REQUIRE_FALSE(bad);
    CHECK(bad.error().message.find("program") != std::string::npos);
}
