#include "tests/support/mcp_client.hpp"

using namespace chalk;
using namespace chalk::mcp::test;

TEST_CASE("a client initializes, lists tools and calls one") {
    owner o;
    client c(o.server->port());
    const auto greeting = c.initialize();
    CHECK(greeting["protocolVersion"] == "2025-06-18");
    CHECK(greeting["serverInfo"]["name"] == "chalk");
    CHECK(greeting["capabilities"]["tools"]["listChanged"] == true);
    CHECK(c.ask(json{{"jsonrpc", "2.0"}, {"method", "notifications/initialized"}}).status == 202);

    const auto listed = c.ask("tools/list").body["result"]["tools"];
    REQUIRE(listed.size() == 2);
    CHECK(listed[0]["name"] == "echo");
    CHECK(listed[0]["inputSchema"] == owner::echo().input_schema);

    const auto called = c.ask(client::call("seven", "echo", {{"text", "hi"}}));
    CHECK(called.status == 200);
    CHECK(called.body == json{{"jsonrpc", "2.0"},
                              {"id", "seven"},
                              {"result", {{"content", {{{"type", "text"}, {"text", "hi"}}}}, {"isError", false}}}});
    CHECK(c.ask("ping").body["result"] == json::object());
}

TEST_CASE("the client's version is taken when it is known, else ours is offered") {
    owner o;
    for (const auto* known : {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05", "2024-10-07"}) {
        CHECK(client(o.server->port()).initialize(known)["protocolVersion"] == known);
    }
    CHECK(client(o.server->port()).initialize("1999-01-01")["protocolVersion"] == "2025-11-25");

    client c(o.server->port());
    c.initialize();
    auto request = c.post(client::make(1, "ping").dump());
    request.set("MCP-Protocol-Version", "1999-01-01");
    CHECK(c.ask(request).status == 400);
    request.set("MCP-Protocol-Version", "2025-06-18");
    CHECK(c.ask(request).status == 200);
}

TEST_CASE("errors of the protocol and of tools are told apart") {
    owner o;
    client c(o.server->port());
    c.initialize();
    CHECK(error_code(c.ask("tools/call", {{"name", "nope"}})) == -32602);
    CHECK(error_code(c.ask("tools/call")) == -32602);
    CHECK(error_code(c.ask("tools/call", {{"name", "echo"}, {"arguments", "text"}})) == -32602);
    CHECK(error_code(c.ask("tools/list", {{"cursor", "x"}})) == -32602);
    CHECK(error_code(c.ask("resources/list")) == -32601);
    CHECK(error_code(c.ask("initialize")) == -32600);

    const auto misfit = c.ask(client::call(5, "echo", {{"text", 7}, {"more", 1}}));
    CHECK(misfit.body["result"]["isError"] == true);
    const auto text = misfit.body["result"]["content"][0]["text"].get<std::string>();
    CHECK(text.find("the arguments do not fit the schema of echo:\n- arguments") == 0);
    CHECK(text.find("arguments.text") != std::string::npos);

    c.send(c.post(client::call(6, "slow").dump()));
    o.reply(o.wait_for_call(), mcp::tool_output::text("broken", true));
    const auto failed = c.receive();
    CHECK(failed.body["result"]["isError"] == true);
    CHECK(failed.body["result"]["content"][0]["text"] == "broken");
}

TEST_CASE("what is not a message is refused and the connection goes on") {
    owner o;
    client c(o.server->port());
    c.initialize();
    const auto not_json = c.ask(c.post("{\"jsonrpc\""));
    CHECK(not_json.status == 400);
    CHECK(error_code(not_json) == -32700);
    CHECK(not_json.body["id"] == nullptr);
    CHECK(error_code(c.ask(c.post(std::string(1000, '[') + std::string(1000, ']')))) == -32700);
    for (const auto* wrong :
         {"1", "{}", "[]", R"({"jsonrpc":"1.0","id":1,"method":"ping"})",
          R"({"jsonrpc":"2.0","id":null,"method":"ping"})", R"({"jsonrpc":"2.0","id":1,"method":2})",
          R"({"jsonrpc":"2.0","id":1,"method":"ping","params":[1]})", R"({"jsonrpc":"2.0","id":1})"}) {
        INFO(wrong);
        const auto out = c.ask(c.post(wrong));
        CHECK(out.status == 400);
        CHECK(error_code(out) == -32600);
    }
    CHECK(c.ask(json{{"jsonrpc", "2.0"}, {"id", 1}, {"result", json::object()}}).status == 202);
    CHECK(c.ask("ping").status == 200);
}

TEST_CASE("batches are for the versions that know them") {
    owner o;
    const json batch = {client::make(1, "ping"),
                        {{"jsonrpc", "2.0"}, {"method", "notifications/x"}},
                        client::call(2, "echo", {{"text", "b"}})};
    client old(o.server->port());
    old.initialize("2025-03-26");
    const auto out = old.ask(batch);
    CHECK(out.status == 200);
    REQUIRE(out.body.is_array());
    CHECK(out.body.size() == 2);
    client recent(o.server->port());
    recent.initialize("2025-06-18");
    CHECK(error_code(recent.ask(batch)) == -32600);
}

TEST_CASE("a session is asked for, must exist, and ends by DELETE") {
    owner o;
    client c(o.server->port());
    CHECK(c.ask("tools/list").status == 400);
    c.session = "made-up";
    CHECK(c.ask("tools/list").status == 404);
    c.session.clear();
    c.initialize();
    client other(o.server->port()); // a session is not bound to a connection
    other.session = c.session;
    CHECK(other.ask("tools/list").status == 200);
    CHECK(other.ask(other.plain(http::verb::delete_)).status == 200);
    CHECK(c.ask("tools/list").status == 404);
    CHECK(c.ask(c.plain(http::verb::delete_)).status == 404);
}

TEST_CASE("headers are checked before anything else") {
    owner o({"127.0.0.1", 0, "secret-token"});
    const auto status = [&](const std::function<void(http::request<http::string_body>&)>& change) {
        client c(o.server->port());
        auto request = c.post(client::make(1, "initialize", {{"protocolVersion", "2025-06-18"}}).dump());
        request.set(http::field::authorization, "Bearer secret-token");
        change(request);
        return c.ask(request).status;
    };
    CHECK(status([](auto&) {}) == 200);
    CHECK(status([](auto& r) { r.set(http::field::host, "localhost:1234"); }) == 200);
    CHECK(status([](auto& r) { r.set(http::field::host, "[::1]:1"); }) == 200);
    CHECK(status([](auto& r) { r.set(http::field::host, "evil.example"); }) == 403);
    CHECK(status([](auto& r) { r.set(http::field::host, "127.0.0.1.evil.example"); }) == 403);
    CHECK(status([](auto& r) { r.set(http::field::host, "localhost:80@evil.example"); }) == 403);
    CHECK(status([](auto& r) { r.erase(http::field::host); }) == 400);
    CHECK(status([](auto& r) { r.set(http::field::origin, "http://localhost:5173"); }) == 200);
    CHECK(status([](auto& r) { r.set(http::field::origin, "https://evil.example"); }) == 403);
    CHECK(status([](auto& r) { r.set(http::field::origin, "null"); }) == 403);
    CHECK(status([](auto& r) { r.erase(http::field::authorization); }) == 401);
    CHECK(status([](auto& r) { r.set(http::field::authorization, "Bearer secret-tokem"); }) == 401);
    CHECK(status([](auto& r) { r.set(http::field::authorization, "Basic secret-token"); }) == 401);
    CHECK(status([](auto& r) { r.target("/other"); }) == 404);
    CHECK(status([](auto& r) { r.method(http::verb::put); }) == 405);
    CHECK(status([](auto& r) { r.set(http::field::accept, "application/json"); }) == 406);
    CHECK(status([](auto& r) { r.erase(http::field::accept); }) == 406);
    CHECK(status([](auto& r) { r.set(http::field::accept, "*/*"); }) == 200);
    CHECK(status([](auto& r) { r.set(http::field::content_type, "text/plain"); }) == 415);
    CHECK(status([](auto& r) { r.set(http::field::content_type, "application/json; charset=utf-8"); }) == 200);
}

TEST_CASE("a body beyond 16 MiB is refused, one within is taken") {
    owner o;
    client c(o.server->port());
    c.initialize();
    const auto big = c.ask(client::call(1, "echo", {{"text", std::string(8U << 20U, 'x')}}));
    CHECK(big.body["result"]["content"][0]["text"].get<std::string>().size() == 8U << 20U);
    auto request = c.post("");
    request.set(http::field::content_length, std::to_string((16U << 20U) + 1));
    http::request_serializer<http::string_body> serializer(request);
    http::write_header(c.socket(), serializer);
    CHECK(c.receive().status == 413);
}

TEST_CASE("a cancelled call is told to its owner and never answered") {
    owner o;
    client caller(o.server->port());
    caller.initialize();
    client canceller(o.server->port());
    canceller.session = caller.session;
    caller.send(caller.post(client::call("c1", "slow").dump()));
    const auto number = o.wait_for_call();
    const auto cancel = [](const json& id) {
        return json{{"jsonrpc", "2.0"}, {"method", "notifications/cancelled"}, {"params", {{"requestId", id}}}};
    };
    CHECK(error_code(canceller.ask(client::call("c1", "slow"))) == -32600); // the id is taken
    CHECK(canceller.ask(cancel("unknown")).status == 202);
    CHECK(canceller.ask(cancel("c1")).status == 202);
    CHECK(o.wait_for_cancel() == std::vector<std::uint64_t>{number});
    const auto end = caller.receive(); // the exchange ends, without a message
    CHECK(end.status == 202);
    CHECK(end.body.is_null());
    o.reply(number, mcp::tool_output::text("too late"));
    CHECK(caller.ask("ping").body["result"] == json::object());
}

TEST_CASE("a client that goes away cancels its call, one that ends its session too") {
    owner o;
    {
        client c(o.server->port());
        c.initialize();
        c.send(c.post(client::call(1, "slow").dump()));
        o.wait_for_call();
    }
    CHECK(o.wait_for_cancel().size() == 1);
    owner second;
    client c(second.server->port());
    c.initialize();
    client other(second.server->port());
    other.session = c.session;
    c.send(c.post(client::call(1, "slow").dump()));
    second.wait_for_call();
    CHECK(other.ask(other.plain(http::verb::delete_)).status == 200);
    CHECK(second.wait_for_cancel().size() == 1);
    CHECK(c.receive().status == 202);
}

TEST_CASE("a request sent before the last one's answer waits for its turn") {
    owner o;
    client c(o.server->port());
    c.initialize();
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    c.send(c.post(client::make(2, "ping").dump()));
    o.reply(number, mcp::tool_output::text("done"));
    CHECK(c.receive().body["id"] == 1);
    CHECK(c.receive().body["id"] == 2);
}

TEST_CASE("a stream tells of changed tools, is one a session, and ends with it") {
    owner o;
    client c(o.server->port());
    c.initialize();
    client streaming(o.server->port());
    streaming.session = c.session;
    streaming.send(streaming.plain(http::verb::get));
    asio::streambuf received;
    asio::read_until(streaming.socket(), received, "\r\n\r\n");

    client second(o.server->port());
    second.session = c.session;
    CHECK(second.ask(second.plain(http::verb::get)).status == 409);

    o.server->set_tools({owner::echo()});
    asio::read_until(streaming.socket(), received, "\n\n");
    const std::string text(asio::buffers_begin(received.data()), asio::buffers_end(received.data()));
    CHECK(text.find("HTTP/1.1 200 OK\r\n") == 0);
    CHECK(
        text.find("event: message\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/tools/list_changed\"}\n\n") !=
        std::string::npos);
    CHECK(c.ask("tools/list").body["result"]["tools"].size() == 1);

    CHECK(c.ask(c.plain(http::verb::delete_)).status == 200);
    char byte = 0;
    errno = 0;
    CHECK(::recv(streaming.socket().native_handle(), &byte, 1, 0) == 0);
    CHECK(errno == 0);
}

TEST_CASE("sessions and connections are limited without harm to those in use") {
    owner o;
    client first(o.server->port());
    first.initialize();
    client busy(o.server->port());
    busy.initialize();
    busy.send(busy.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    client many(o.server->port());
    for (int i = 0; i < 300; ++i) {
        many.session.clear();
        many.initialize();
    }
    CHECK(first.ask("ping").status == 404); // the longest idle ones went
    std::vector<std::unique_ptr<client>> crowd;
    for (int i = 0; i < 300; ++i) {
        crowd.push_back(std::make_unique<client>(o.server->port()));
    }
    crowd.back()->session = many.session;
    CHECK(crowd.back()->ask("ping").status == 200);
    o.reply(number, mcp::tool_output::text("still here"));
    CHECK(busy.receive().body["result"]["content"][0]["text"] == "still here");
}

TEST_CASE("bytes that are not HTTP end their connection alone") {
    owner o;
    client bystander(o.server->port());
    bystander.initialize();
    client c(o.server->port());
    const std::string noise = "\x16\x03\x01\x02 hello\r\n\r\n";
    asio::write(c.socket(), asio::buffer(noise));
    CHECK(c.receive().status == 400);
    CHECK(bystander.ask("ping").status == 200);
}

TEST_CASE("a closed server ends its connections, and late replies do no harm") {
    owner o;
    client c(o.server->port());
    c.initialize();
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    o.server->close();
    char byte = 0;
    CHECK(::recv(c.socket().native_handle(), &byte, 1, 0) <= 0);
    CHECK(o.wait_for_cancel().size() == 1);
    o.reply(number, mcp::tool_output::text("late"));
}

TEST_CASE("an address that cannot be bound is a configuration error") {
    owner o;
    io_thread io;
    const auto taken = mcp::server::listen(io.context(), {"127.0.0.1", o.server->port(), ""}, {});
    REQUIRE(taken.has_error());
    CHECK(taken.error().kind == error_class::config);
    CHECK(mcp::server::listen(io.context(), {"not-an-address", 0, ""}, {}).has_error());
}
