#include "protocol/mcp/param_headers.hpp"

#include "protocol/mcp/stateless.hpp"
#include "tests/support/mcp_client.hpp"

using namespace chalk;
using namespace chalk::mcp::test;

namespace {

json object_of(json properties) {
    return {{"type", "object"}, {"properties", std::move(properties)}};
}

json mirrored_as(const char* name, const json& type = "string") {
    return {{"type", type}, {"x-mcp-header", name}};
}

const json schema = object_of({{"region", mirrored_as("Region")},
                               {"count", mirrored_as("count", "integer")},
                               {"dry", mirrored_as("Dry-Run", {"boolean", "null"})},
                               {"where", object_of({{"zone", mirrored_as("Zone")}})},
                               {"x-mcp-header", {{"type", "string"}}}}); // a parameter of that name is none

std::optional<mcp::rpc_failure> checked(const std::vector<std::pair<std::string, std::string>>& headers,
                                        const json& arguments) {
    http::request<http::string_body> request;
    for (const auto& [name, value] : headers) {
        request.insert(name, value);
    }
    return mcp::check_param_headers(request, mcp::find_mirrored(schema).value(), arguments);
}

} // namespace

TEST_CASE("parameters that ask for a header are found at any depth of properties") {
    const auto found = mcp::find_mirrored(schema).value();
    REQUIRE(found.size() == 4);
    CHECK(found[3].name == "Zone");
    CHECK(found[3].path == std::vector<std::string>{"where", "zone"});
    CHECK(mcp::find_mirrored({{"type", "object"}})->empty());
    const json words = {{"type", "object"}, {"default", {{"x-mcp-header", 1}}}, {"examples", {{{"x-mcp-header", 1}}}}};
    CHECK(mcp::find_mirrored(words)->empty()); // values, no schemas
}

TEST_CASE("a tool whose schema asks for a header where the specification forbids it is refused") {
    const json fine = mirrored_as("A");
    const std::vector<json> forbidden = {
        object_of({{"a", mirrored_as("")}}),
        object_of({{"a", mirrored_as("A B")}}),
        object_of({{"a", mirrored_as("A\r\nB")}}),
        object_of({{"a", {{"type", "string"}, {"x-mcp-header", 1}}}}),
        object_of({{"a", mirrored_as("A")}, {"b", mirrored_as("a")}}),
        object_of({{"a", mirrored_as("A", "number")}}),
        object_of({{"a", mirrored_as("A", "object")}}),
        object_of({{"a", mirrored_as("A", {"string", "array"})}}),
        object_of({{"a", {{"enum", {"x"}}, {"x-mcp-header", "A"}}}}),
        object_of({{"a", {{"type", "array"}, {"items", fine}}}}),
        object_of({{"a", {{"type", "array"}, {"items", json::array({fine})}}}}),
        {{"type", "object"}, {"x-mcp-header", "A"}},
        {{"type", "object"}, {"allOf", json::array({object_of({{"a", fine}})})}},
        {{"type", "object"}, {"if", object_of({{"a", fine}})}},
        {{"type", "object"}, {"additionalProperties", fine}},
        {{"type", "object"}, {"definitions", {{"d", fine}}}},
    };
    for (const auto& one : forbidden) {
        CAPTURE(one.dump());
        const auto refused = mcp::check_tool({"t", "", one});
        REQUIRE(refused.has_error());
        CHECK(refused.error().kind == error_class::task);
        CHECK(refused.error().message.find("x-mcp-header") != std::string::npos);
    }
    CHECK(mcp::check_tool({"t", "", schema}).has_value());
}

TEST_CASE("a header says what the body says, whatever its form") {
    CHECK_FALSE(checked({}, json::object()));
    CHECK_FALSE(checked({}, {{"region", nullptr}, {"where", nullptr}, {"dry", nullptr}}));
    CHECK_FALSE(checked({{"mcp-param-REGION", "us-west1"}}, {{"region", "us-west1"}}));
    CHECK_FALSE(checked({{"Mcp-Param-Region", ""}}, {{"region", ""}}));
    CHECK_FALSE(checked({{"Mcp-Param-Region", "=?base64?SGVsbG8sIOS4lueVjA==?="}}, {{"region", "Hello, 世界"}}));
    CHECK_FALSE(
        checked({{"Mcp-Param-Region", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}}, {{"region", "=?base64?literal?="}}));
    CHECK_FALSE(checked({{"Mcp-Param-Count", "42"}}, {{"count", 42}}));
    CHECK_FALSE(checked({{"Mcp-Param-Count", "42.0"}}, {{"count", 42}}));
    CHECK_FALSE(checked({{"Mcp-Param-Count", "-7"}}, {{"count", -7.0}}));
    CHECK_FALSE(checked({{"Mcp-Param-Dry-Run", "false"}}, {{"dry", false}}));
    CHECK_FALSE(checked({{"Mcp-Param-Zone", "b"}}, {{"where", {{"zone", "b"}}}}));
    CHECK_FALSE(checked({{"Mcp-Param-Unknown", "b"}}, json::object())); // not ours to judge
    // The schema refuses it, with words for the model.
    CHECK_FALSE(checked({}, {{"region", {{"an", "object"}}}, {"count", 1.5}}));
}

TEST_CASE("a header that does not say what the body says is refused") {
    const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, json>> wrong = {
        {{}, {{"region", "us-west1"}}},
        {{}, {{"region", ""}}},
        {{}, {{"where", {{"zone", "b"}}}}},
        {{{"Mcp-Param-Region", "us-west1"}}, json::object()},
        {{{"Mcp-Param-Region", ""}}, {{"region", nullptr}}},
        {{{"Mcp-Param-Region", "US-west1"}}, {{"region", "us-west1"}}},
        {{{"Mcp-Param-Region", "us-west1"}, {"Mcp-Param-Region", "us-west1"}}, {{"region", "us-west1"}}},
        {{{"Mcp-Param-Region", "=?base64?x?="}}, {{"region", "=?base64?x?="}}},
        {{{"Mcp-Param-Region", "=?base64?SGVsbG8?="}}, {{"region", "Hello"}}}, // its padding is missing
        {{{"Mcp-Param-Region", "gr\xc3\xbc\xc3\x9f"}}, {{"region", "gr\xc3\xbc\xc3\x9f"}}},
        {{{"Mcp-Param-Count", "41"}}, {{"count", 42}}},
        {{{"Mcp-Param-Count", "42 apples"}}, {{"count", 42}}},
        {{{"Mcp-Param-Count", "18446744073709551615"}}, {{"count", -1}}},
        {{{"Mcp-Param-Count", "9007199254740993"}}, {{"count", 9007199254740993}}}, // a client may have rounded it
        {{{"Mcp-Param-Dry-Run", "True"}}, {{"dry", true}}},
    };
    for (const auto& [headers, arguments] : wrong) {
        CAPTURE(arguments.dump());
        const auto refused = checked(headers, arguments);
        REQUIRE(refused);
        CHECK(refused->code == mcp::rpc_error::header_mismatch);
        CHECK(refused->message.find("Mcp-Param-") != std::string::npos);
    }
}

TEST_CASE("a call is held to its tool's headers in 2026-07-28, and in no version with sessions") {
    owner o;
    o.server->set_tools({{"echo", "says it again", object_of({{"text", mirrored_as("Text")}})}});
    client c(o.server->port());
    const auto post = [&](const json& arguments, const char* value) {
        auto call = client::call(1, "echo", arguments);
        call["params"]["_meta"][mcp::meta::protocol_version] = "2026-07-28";
        call["params"]["_meta"][mcp::meta::client_capabilities] = json::object();
        auto request = c.post(call.dump());
        request.set("MCP-Protocol-Version", "2026-07-28");
        request.set("Mcp-Method", "tools/call");
        request.set("Mcp-Name", "echo");
        if (value != nullptr) {
            request.set("Mcp-Param-Text", value);
        }
        return c.ask(request);
    };
    CHECK(post({{"text", "hi"}}, "hi").body["result"]["content"][0]["text"] == "hi");
    CHECK(post(json::object(), nullptr).body["result"]["content"][0]["text"] == "nothing");
    for (const auto* value : {static_cast<const char*>(nullptr), "ho"}) {
        const auto refused = post({{"text", "hi"}}, value);
        CHECK(refused.status == 400);
        CHECK(error_code(refused) == -32020);
        CHECK(refused.body["id"] == 1);
    }
    client older(o.server->port());
    older.initialize();
    auto request = older.post(client::call(2, "echo", {{"text", "hi"}}).dump());
    request.set("Mcp-Param-Text", "ho");
    CHECK(older.ask(request).body["result"]["content"][0]["text"] == "hi");
}
