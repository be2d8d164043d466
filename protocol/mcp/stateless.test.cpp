// MCP 2026-07-28, which has no sessions: what a request must say, and what it is told when it does not.

#include "protocol/mcp/stateless.hpp"

#include "tests/support/mcp_client.hpp"

using namespace chalk;
using namespace chalk::mcp::test;

namespace {

constexpr const char* version = "2026-07-28";

json with_meta(json message, const char* claimed = version) {
    message["params"]["_meta"][mcp::meta::protocol_version] = claimed;
    message["params"]["_meta"][mcp::meta::client_capabilities] = json::object();
    return message;
}

http::request<http::string_body> stateless(const client& c, const json& message, const char* claimed = version) {
    auto request = c.post(message.dump());
    request.set("MCP-Protocol-Version", claimed);
    request.set("Mcp-Method", message["method"].get<std::string>());
    if (message["method"] == "tools/call") {
        request.set("Mcp-Name", message["params"]["name"].get<std::string>());
    }
    return request;
}

} // namespace

TEST_CASE("a request without a session is discovered, listed and called") {
    owner o;
    client c(o.server->port());
    const auto found = c.ask(stateless(c, with_meta(client::make(1, "server/discover"))));
    CHECK(found.status == 200);
    CHECK(found.session.empty());
    CHECK(found.body["result"]["supportedVersions"][0] == version);
    CHECK(found.body["result"]["resultType"] == "complete");
    CHECK(found.body["result"]["_meta"][mcp::meta::server_info]["name"] == "chalk");

    const auto listed = c.ask(stateless(c, with_meta(client::make(2, "tools/list")))).body["result"];
    CHECK(listed["tools"].size() == 2);
    CHECK(listed["ttlMs"] == 0);

    const auto call = with_meta(client::call(3, "echo", {{"text", "hi"}}));
    CHECK(c.ask(stateless(c, call)).body["result"]["content"][0]["text"] == "hi");
    auto encoded = stateless(c, call);
    encoded.set("Mcp-Name", "=?base64?ZWNobw==?=");
    CHECK(c.ask(encoded).body["result"]["content"][0]["text"] == "hi");
}

TEST_CASE("headers that do not say what the body says are refused") {
    owner o;
    client c(o.server->port());
    const auto call = with_meta(client::call(1, "echo"));
    for (const auto* name : {"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"}) {
        for (const auto* value : {"", "2025-11-25", "slow", "=?base64?x?="}) {
            CAPTURE(name, value);
            auto request = stateless(c, call);
            request.erase(name);
            if (*value != '\0') {
                request.set(name, value);
            }
            const auto refused = c.ask(request);
            CHECK(refused.status == 400);
            CHECK(error_code(refused) == -32020);
            CHECK(refused.body["id"] == 1);
        }
    }
}

TEST_CASE("a version that is not spoken is refused with those that are") {
    owner o;
    client c(o.server->port());
    const auto refused = c.ask(stateless(c, with_meta(client::make(1, "server/discover"), "2099-01-01"), "2099-01-01"));
    CHECK(refused.status == 400);
    CHECK(error_code(refused) == -32022);
    CHECK(refused.body["error"]["data"]["supported"][0] == version);
    CHECK(refused.body["error"]["data"]["requested"] == "2099-01-01");
    auto header_alone = c.post(client::make(1, "tools/list").dump());
    header_alone.set("MCP-Protocol-Version", "2099-01-01");
    CHECK(error_code(c.ask(header_alone)) == -32022);
}

TEST_CASE("what 2026-07-28 demands of a body, and what it has not") {
    owner o;
    client c(o.server->port());
    CHECK(error_code(c.ask(stateless(c, client::make(1, "tools/list")))) == -32602);
    auto incapable = with_meta(client::make(1, "tools/list"));
    incapable["params"]["_meta"].erase(mcp::meta::client_capabilities);
    CHECK(c.ask(stateless(c, incapable)).status == 400);
    for (const auto* gone : {"initialize", "ping", "logging/setLevel", "resources/list"}) {
        const auto unknown = c.ask(stateless(c, with_meta(client::make(1, gone))));
        CHECK(unknown.status == 404);
        CHECK(error_code(unknown) == -32601);
    }
    const auto unknown_tool = c.ask(stateless(c, with_meta(client::call(1, "nope"))));
    CHECK(unknown_tool.status == 200);
    CHECK(error_code(unknown_tool) == -32602);
    auto batch = stateless(c, with_meta(client::make(1, "tools/list")));
    batch.body() = "[" + batch.body() + "]";
    batch.prepare_payload();
    CHECK(error_code(c.ask(batch)) == -32600);
    auto notification = stateless(c, {{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}});
    CHECK(c.ask(notification).status == 202);
    auto get = c.plain(http::verb::get);
    get.set("MCP-Protocol-Version", version);
    CHECK(c.ask(get).status == 405);
}

TEST_CASE("a client that closes its connection cancels its call, although it streams") {
    owner o;
    {
        client c(o.server->port());
        auto call = with_meta(client::call(1, "slow"));
        call["params"]["_meta"]["progressToken"] = 7;
        call["params"]["_meta"][mcp::meta::log_level] = "error";
        c.send(stateless(c, call));
        const auto number = o.wait_for_call();
        o.reporter(number)->log(log_level::warning, "too little");
        o.reporter(number)->progress(1, std::nullopt, "begun");
        const auto text = c.receive_until("begun");
        CHECK(text.find("notifications/message") == std::string::npos);
        CHECK(text.find("\nid: ") == std::string::npos); // there is nothing to come back to
    }
    CHECK(o.wait_for_cancel() == std::vector<std::uint64_t>{o.wait_for_call()});
}

TEST_CASE("a subscription is acknowledged and hears of changed tools") {
    owner o;
    client c(o.server->port());
    auto listen = client::make("mine", "subscriptions/listen", {{"notifications", {{"toolsListChanged", true}}}});
    c.send(stateless(c, with_meta(listen)));
    const auto text = c.receive_until("acknowledged\"");
    CHECK(text.find(R"("notifications":{"toolsListChanged":true})") != std::string::npos);
    CHECK(text.find(R"("io.modelcontextprotocol/subscriptionId":"mine")") != std::string::npos);
    o.server->set_tools({owner::echo()});
    CHECK(c.receive_until("notifications/tools/list_changed").find("mine") != std::string::npos);
    client other(o.server->port());
    CHECK(error_code(other.ask(stateless(other, with_meta(client::make(1, "subscriptions/listen"))))) == -32602);
}
