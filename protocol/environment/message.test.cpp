#include "protocol/environment/message.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::environment;
using chalk::json;

namespace {

std::string reason_of(std::string_view line) {
    auto parsed = parse_message(line);
    auto* broken = std::get_if<violation>(&parsed);
    return broken != nullptr ? broken->reason : "(no violation)";
}

} // namespace

TEST_CASE("a request is one line of JSON-RPC 2.0", "[environment]") {
    auto line = request_line(7, "call_tool", {{"name", "a\nb"}});
    CHECK(line.find('\n') == std::string::npos);
    CHECK(json::parse(line) ==
          json{{"jsonrpc", "2.0"}, {"id", 7}, {"method", "call_tool"}, {"params", {{"name", "a\nb"}}}});
    CHECK(json::parse(cancel_line(7)) == json{{"jsonrpc", "2.0"}, {"method", "cancel"}, {"params", {{"id", 7}}}});
}

TEST_CASE("bytes of a student that are not UTF-8 do not break a request", "[environment]") {
    CHECK(json::parse(request_line(1, "judge", {{"t", "\xff"}}))["params"]["t"] == "\xEF\xBF\xBD");
}

TEST_CASE("an answer holds its result, null included", "[environment]") {
    auto parsed = parse_message(R"({"jsonrpc":"2.0","id":3,"result":null})");
    auto* reply = std::get_if<answer>(&parsed);
    REQUIRE(reply != nullptr);
    CHECK(reply->id == 3);
    REQUIRE(reply->value.has_value());
    CHECK(reply->value->is_null());
}

TEST_CASE("an error brings its code, message and traceback", "[environment]") {
    auto parsed = parse_message(
        R"({"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"ValueError: x","data":{"traceback":"tb"}}})");
    auto* reply = std::get_if<answer>(&parsed);
    REQUIRE(reply != nullptr);
    REQUIRE(reply->value.has_error());
    const auto& error = reply->value.error();
    CHECK(error.kind == call_error_kind::remote);
    CHECK(error.code == static_cast<int>(rpc_code::environment_exception));
    CHECK(error.message == "ValueError: x");
    CHECK(error.details == "tb");
}

TEST_CASE("a log notification is a log line of the environment", "[environment]") {
    auto parsed = parse_message(R"({"jsonrpc":"2.0","method":"log","params":{"level":"error","text":"hm"}})");
    auto* note = std::get_if<log_note>(&parsed);
    REQUIRE(note != nullptr);
    CHECK(note->line.level == chalk::log_level::error);
    CHECK(note->line.source == "environment");
    CHECK(note->line.text == "hm");
    CHECK_FALSE(note->call);
    parsed = parse_message(R"({"jsonrpc":"2.0","method":"log","params":{"level":"info","text":"","call":7}})");
    CHECK(std::get<log_note>(parsed).call == 7);
}

TEST_CASE("a progress notification names its call, how far it is, and perhaps of how much and what it does",
          "[environment]") {
    auto parsed = parse_message(
        R"({"jsonrpc":"2.0","method":"progress","params":{"call":7,"done":1.5,"total":4,"message":"half"}})");
    const auto& full = std::get<progress_note>(parsed);
    CHECK(full.call == 7);
    CHECK(full.progress.done == 1.5);
    CHECK(full.progress.total == 4.0);
    CHECK(full.progress.message == "half");
    parsed = parse_message(
        R"({"jsonrpc":"2.0","method":"progress","params":{"call":7,"done":1,"total":null,"message":null}})");
    CHECK_FALSE(std::get<progress_note>(parsed).progress.total);
    CHECK(std::get<progress_note>(parsed).progress.message.empty());
}

TEST_CASE("what the protocol does not allow is named", "[environment]") {
    auto [line, reason] = GENERATE(table<std::string, std::string>({
        {"hello", "not JSON"},
        {"", "not JSON"},
        {"[]", "not a JSON object"},
        {R"({"id":1,"result":1})", "not JSON-RPC 2.0"},
        {R"({"jsonrpc":"1.0","id":1,"result":1})", "not JSON-RPC 2.0"},
        {R"({"jsonrpc":"2.0","result":1})", "without a call's id"},
        {R"({"jsonrpc":"2.0","id":"1","result":1})", "without a call's id"},
        {R"({"jsonrpc":"2.0","id":-1,"result":1})", "without a call's id"},
        {R"({"jsonrpc":"2.0","id":1})", "either a result or an error"},
        {R"({"jsonrpc":"2.0","id":1,"result":1,"error":{"code":1,"message":""}})", "either a result or an error"},
        {R"({"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}})", "without a code and a message"},
        {R"({"jsonrpc":"2.0","id":1,"error":{"code":1}})", "without a code and a message"},
        {R"({"jsonrpc":"2.0","id":1,"error":"bad"})", "without a code and a message"},
        {R"({"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}})", "could not read a request of ours"},
        {R"({"jsonrpc":"2.0","method":5})", "not a string"},
        {R"({"jsonrpc":"2.0","method":"hello"})", "unknown notification \"hello\""},
        {R"({"jsonrpc":"2.0","id":1,"method":"log"})", "a request for \"log\""},
        {R"({"jsonrpc":"2.0","method":"log","params":{"level":"info"}})", "without a level and a text"},
        {R"({"jsonrpc":"2.0","method":"log","params":[]})", "without a level and a text"},
        {R"({"jsonrpc":"2.0","method":"log","params":{"level":"loud","text":""}})", "of level \"loud\""},
        {R"({"jsonrpc":"2.0","method":"log","params":{"level":"info","text":"","call":"7"}})", "no call's id"},
        {R"({"jsonrpc":"2.0","method":"progress"})", "without a call's id"},
        {R"({"jsonrpc":"2.0","method":"progress","params":{"call":1,"done":null}})", "a number that is done"},
        {R"({"jsonrpc":"2.0","method":"progress","params":{"call":1,"done":1,"total":"x"}})", "total is no number"},
        {R"({"jsonrpc":"2.0","method":"progress","params":{"call":1,"done":1,"message":1}})", "message is no text"},
        {std::string(200, '[') + std::string(200, ']'), "not JSON"},
    }));
    CAPTURE(line);
    CHECK(reason_of(line).find(reason) != std::string::npos);
}
