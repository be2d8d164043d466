#include "protocol/mcp/server.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using mcp::tool_spec;

TEST_CASE("a tool is refused for its name or a schema that is not an object's") {
    CHECK(mcp::check_tool({"fine.tool-1_x", "", {{"type", "object"}}}).has_value());
    CHECK(mcp::check_tool({"", "", {{"type", "object"}}}).has_error());
    CHECK(mcp::check_tool({"a b", "", {{"type", "object"}}}).has_error());
    CHECK(mcp::check_tool({std::string(129, 'a'), "", {{"type", "object"}}}).has_error());
    CHECK(mcp::check_tool({"a", "", {{"type", "string"}}}).has_error());
    CHECK(mcp::check_tool({"a", "", "text"}).has_error());
    const auto broken = mcp::check_tool({"a", "", {{"type", "object"}, {"required", 3}}});
    REQUIRE(broken.has_error());
    CHECK(broken.error().kind == error_class::task);
    CHECK(mcp::check_tool({"a", "", {{"type", "object"}, {"$ref", "http://elsewhere/schema"}}}).has_error());
}

TEST_CASE("arguments are checked with the place of each misfit") {
    const tool_spec tool{
        "move",
        "",
        {{"type", "object"},
         {"properties",
          {{"steps", {{"type", "array"}, {"items", {{"type", "integer"}}}}}, {"mode", {{"enum", {"fast", "slow"}}}}}},
         {"required", {"steps"}}}};
    CHECK(mcp::validate_arguments(tool, {{"steps", {1, 2}}, {"mode", "fast"}}).has_value());
    const auto wrong = mcp::validate_arguments(tool, {{"steps", {1, "two"}}});
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().kind == error_class::model);
    CHECK(wrong.error().message.find("arguments.steps[1]") != std::string::npos);
    CHECK(mcp::validate_arguments(tool, json::object()).error().message.find("'steps'") != std::string::npos);
    CHECK(mcp::validate_arguments(tool, {{"steps", json::array()}, {"mode", "other"}}).has_error());
}

TEST_CASE("a long text against a pattern is refused instead of overflowing the stack") {
    const tool_spec tool{
        "t", "", {{"type", "object"}, {"properties", {{"a", {{"type", "string"}, {"pattern", "^(x|y)*$"}}}}}}};
    CHECK(mcp::validate_arguments(tool, {{"a", std::string(2'000, 'x')}}).has_value());
    CHECK(mcp::validate_arguments(tool, {{"a", "z"}}).has_error());
    const auto too_long = mcp::validate_arguments(tool, {{"a", std::string(1'000'000, 'x')}});
    REQUIRE(too_long.has_error());
    CHECK(too_long.error().message.find("4096 bytes") != std::string::npos);
}

TEST_CASE("an output as text names what is not text") {
    mcp::tool_output out = mcp::tool_output::text("a");
    out.content.push_back({{"type", "image"}, {"data", "AAAA"}});
    out.content.push_back({{"type", "text"}, {"text", "b"}});
    CHECK(out.as_text() == "a\n[image]\nb");
}
