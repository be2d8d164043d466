#include "actors/harness/environment_answers.hpp"

#include "actors/harness/environment_errors.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;
using Catch::Matchers::Contains;

namespace {

std::string why(std::string_view method, const char* answer) {
    auto fact = fact_of(method, json::parse(answer));
    REQUIRE(fact.has_error());
    CHECK(fact.error().kind == error_class::task);
    CHECK_THAT(fact.error().message, Contains(std::string(method)));
    return fact.error().message;
}

environment::call_error error_of(environment::call_error_kind kind, int code = 0) {
    return {kind, code, "the message", "the details"};
}

} // namespace

TEST_CASE("an answer of the environment that lacks a field or has it wrong names the field", "[answers]") {
    CHECK_THAT(why("load_task", R"({"steps":[]})"), Contains("name: missing"));
    CHECK_THAT(why("load_task", R"({"name":"t","steps":[1]})"), Contains("steps"));
    CHECK_THAT(why("configure_tools", R"({"tools":[],"builtin":[1]})"), Contains("builtin"));
    CHECK_THAT(why("system_prompt", R"({"text":1})"), Contains("text"));
    CHECK_THAT(why("start_step", R"({})"), Contains("instructions"));
    CHECK_THAT(why("judge", R"({"score":"1","continue_task":true,"explanation":""})"), Contains("score"));
    CHECK_THAT(why("judge", R"({"score":1,"continue_task":1,"explanation":""})"), Contains("continue_task"));
    CHECK_THAT(why("pre_hook", "3"), Contains("object"));
}

TEST_CASE("optional fields of an answer may be null or absent", "[answers]") {
    auto step = fact_of("start_step", {{"instructions", "x"}, {"extra_config", nullptr}});
    REQUIRE(step.has_value());
    CHECK(std::get<lifecycle::step_begun>(*step).extra_config == json::object());
    auto prompt = fact_of("system_prompt", {{"text", nullptr}});
    REQUIRE(prompt.has_value());
    CHECK_FALSE(std::get<lifecycle::system_prompt_given>(*prompt).text);
}

TEST_CASE("a tool's timeout is in seconds and within a day", "[answers]") {
    json tool{{"name", "t"}, {"description", ""}, {"input_schema", {{"type", "object"}}}};
    REQUIRE(tool_of(tool).has_value());
    CHECK_FALSE(tool_of(tool)->timeout);
    tool["timeout_s"] = 1.5;
    CHECK(tool_of(tool)->timeout == milliseconds(1500));
    for (const json& wrong : {json(0), json(-1), json("1"), json(1e300)}) {
        tool["timeout_s"] = wrong;
        CHECK(tool_of(tool).has_error());
    }
}

TEST_CASE("whose fault a failed call is depends on how it failed", "[answers]") {
    using environment::call_error_kind;
    CHECK_FALSE(trouble_of("judge", error_of(call_error_kind::closed)));
    CHECK(trouble_of("judge", error_of(call_error_kind::timeout))->why.kind == error_class::timeout);
    CHECK(trouble_of("judge", error_of(call_error_kind::protocol))->why.kind == error_class::task);
    const auto raised = trouble_of("judge", error_of(call_error_kind::remote, -32000));
    CHECK(raised->why.kind == error_class::task);
    CHECK(raised->details == "the details");
    CHECK_FALSE(raised->student_misbehaved);
    CHECK(trouble_of("judge", error_of(call_error_kind::remote, -32001))->student_misbehaved);
}

TEST_CASE("a failed tool is a result for the model without the environment's traceback", "[answers]") {
    using environment::call_error_kind;
    for (auto kind :
         {call_error_kind::closed, call_error_kind::timeout, call_error_kind::protocol, call_error_kind::remote}) {
        const auto output = tool_output_of("t", error_of(kind));
        CHECK(output.is_error);
        CHECK_THAT(output.as_text(), Contains("tool t") && !Contains("the details"));
    }
}

TEST_CASE("a solution is a program with its variables, or none") {
    const auto solution = solution_of(json::parse(R"({"argv": ["/bin/sh", "x"], "env": {"A": "1", "B": ""}})"));
    REQUIRE(solution);
    REQUIRE(*solution);
    CHECK((*solution)->argv == std::vector<std::string>{"/bin/sh", "x"});
    CHECK((*solution)->environment == std::vector<std::string>{"A=1", "B="});
    const auto none = solution_of(json::parse(R"({"argv": null, "env": {}})"));
    REQUIRE(none);
    CHECK_FALSE(none->has_value());
    for (const char* wrong : {R"([])", R"({})", R"({"argv": [], "env": {}})", R"({"argv": [1], "env": {}})",
                              R"({"argv": ["x"]})", R"({"argv": ["x"], "env": {"A": 1}})"}) {
        INFO(wrong);
        const auto refused = solution_of(json::parse(wrong));
        REQUIRE_FALSE(refused);
        CHECK_THAT(refused.error().message, Contains("the environment's answer to solution"));
    }
}

TEST_CASE("a tool's text that no model could read keeps its beginning and its end", "[answers]") {
    const auto answer = [](std::size_t size) {
        return json{{"content", {{{"type", "text"}, {"text", "begin" + std::string(size, 'x') + "end"}}}},
                    {"is_error", false}};
    };
    CHECK_FALSE(tool_output_of(answer(1'000'000)).value().truncated);
    const auto cut = tool_output_of(answer(50'000'000)).value();
    CHECK(cut.truncated);
    CHECK(cut.as_text().size() < (1U << 20U) + 200);
    CHECK(cut.as_text().starts_with("beginxxx"));
    CHECK(cut.as_text().ends_with("xxxend"));
    CHECK(tool_output_of({{"content", {{{"type", "text"}}}}, {"is_error", false}}).has_error());
}
