#include "actors/harness/cli_agent_step.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace chalk;
using namespace chalk::actors;

namespace {

const config::cli_agent& claude() {
    return *config::find_cli_agent("claude-code");
}

confinement::command_result ended(int code) {
    confinement::command_result how;
    how.status.code = code;
    return how;
}

constexpr const char* good_end = R"({"type":"result","is_error":false,"result":"done"})";

} // namespace

TEST_CASE("a CLI agent's texts are messages, the tools it used are log lines") {
    cli_agent_step step(claude(), 0);
    const auto events = step.on_line(
        R"({"type":"assistant","message":{"content":[{"type":"text","text":"Hi."},{"type":"tool_use","name":"Bash"}]}})");
    REQUIRE(events.size() == 2);
    CHECK(std::get<message_added>(events[0]).text == "Hi.");
    CHECK(std::get<log_line>(events[1]).text == "claude-code uses Bash");
    CHECK(step.on_line(good_end).empty());
    const auto end = step.on_end(ended(0), std::nullopt);
    CHECK(end.record.empty());
    CHECK_FALSE(end.why);
}

TEST_CASE("a failure that the agent tells of is the run's, whatever its exit code") {
    cli_agent_step step(claude(), 1);
    (void)step.on_line(R"({"type":"result","subtype":"success","is_error":true,"result":"API Error: 500"})");
    const auto end = step.on_end(ended(0), std::nullopt);
    REQUIRE(end.why);
    CHECK(end.why->kind == error_class::model);
    CHECK(end.why->message == "step 1: agent claude-code failed: API Error: 500");
}

TEST_CASE("a text that comes in pieces is one message, also when the agent ends in the middle of it") {
    const auto say = [](const char* text) {
        return fmt::format(R"({{"type":"message","role":"assistant","content":"{}","delta":true}})", text);
    };
    cli_agent_step step(*config::find_cli_agent("gemini-cli"), 0);
    CHECK(step.on_line(say("I will ")).empty());
    CHECK(step.on_line(say("look.")).empty());
    const auto events = step.on_line(R"({"type":"tool_use","tool_name":"read"})");
    REQUIRE(events.size() == 2);
    CHECK(std::get<message_added>(events[0]).text == "I will look.");
    CHECK(std::get<log_line>(events[1]).text == "gemini-cli uses read");
    (void)step.on_line(say("And"));
    const auto end = step.on_end(ended(1), {});
    REQUIRE(end.record.size() == 1);
    CHECK(std::get<message_added>(end.record[0]).text == "And");
    CHECK(end.why);
}

TEST_CASE("an agent that stops without its last line has failed, and its last words say why") {
    cli_agent_step step(claude(), 0);
    (void)step.on_line("Error: cannot write /x");
    const auto end = step.on_end(ended(0), std::nullopt);
    REQUIRE(end.why);
    CHECK(end.why->kind == error_class::model);
    CHECK(end.why->message.find("ended without its result line (exit code 0): Error: cannot write /x") !=
          std::string::npos);
}

TEST_CASE("an agent that is not installed is a matter of configuration") {
    const cli_agent_step step(claude(), 0);
    const auto end = step.on_end(ended(no_such_program), std::nullopt);
    REQUIRE(end.why);
    CHECK(end.why->kind == error_class::config);
    CHECK(end.why->message.find("npm install -g @anthropic-ai/claude-code") != std::string::npos);
}

TEST_CASE("a limit ends the step, not the run; running out of time without one is a timeout") {
    const cli_agent_step step(claude(), 0);
    auto how = ended(0);
    how.timed_out = true;
    how.duration = milliseconds{5'000};
    auto end = step.on_end(how, limit_reached{limit_kind::time, 5'000, "reached"});
    CHECK_FALSE(end.why);
    REQUIRE(end.record.size() == 1);
    CHECK(std::get<limit_reached>(end.record[0]).limit == limit_kind::time);
    end = step.on_end(how, std::nullopt);
    REQUIRE(end.why);
    CHECK(end.why->kind == error_class::timeout);
}

TEST_CASE("a program that failed because its model refused it for a limit has reached it") {
    cli_agent_step step(claude(), 0);
    (void)step.on_line(R"({"type":"result","is_error":true,"result":"API Error: 402"})");
    const auto end = step.on_end(ended(1), limit_reached{limit_kind::usd, 1'000'000, "reached"});
    CHECK_FALSE(end.why);
    CHECK(std::get<limit_reached>(end.record.at(0)).limit == limit_kind::usd);
}

TEST_CASE("a program that ended well has ended its step by itself, whatever is reached by then") {
    cli_agent_step step(claude(), 0);
    (void)step.on_line(good_end);
    const auto end = step.on_end(ended(0), limit_reached{limit_kind::turns, 1, "reached"});
    CHECK(end.record.empty());
    CHECK_FALSE(end.why);
}
