// What a tool says while it is called: when it is told, in which form, and what becomes of it when a connection breaks.

#include "protocol/mcp/exchange.hpp"
#include "tests/support/mcp_client.hpp"

using namespace chalk;
using namespace chalk::mcp::test;

namespace {

json slow_with_progress(int id) {
    auto call = client::call(id, "slow");
    call["params"]["_meta"] = {{"progressToken", "p"}};
    return call;
}

bool ends_chunked(const std::string& text) {
    return text.ends_with("\r\n0\r\n\r\n");
}

std::size_t count(const std::string& text, const std::string& what) {
    std::size_t found = 0;
    for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
        ++found;
    }
    return found;
}

} // namespace

TEST_CASE("a call that reports progress is answered as events, and its connection goes on") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-11-25");
    c.send(c.post(slow_with_progress(1).dump()));
    const auto number = o.wait_for_call();
    const auto reporter = o.reporter(number);
    reporter->progress(1, 4, "a quarter");
    reporter->progress(1, 4, "no more than before");
    reporter->progress(2, std::nullopt, {});
    o.reply(number, mcp::tool_output::text("done"));
    reporter->progress(3, std::nullopt, "after the reply");
    const auto text = c.receive_until("\r\n0\r\n\r\n");
    CHECK(ends_chunked(text));
    CHECK(text.find("Content-Type: text/event-stream\r\n") != std::string::npos);
    CHECK(text.find("retry: ") < text.find("event: message")); // the event without a message comes first
    CHECK(count(text, "notifications/progress") == 2);
    CHECK(count(text, R"("progressToken":"p")") == 2);
    CHECK(text.find(R"("message":"a quarter")") != std::string::npos);
    CHECK(text.find(R"("total":4.0)") != std::string::npos);
    CHECK(text.find(R"("text":"done")") > text.rfind("notifications/progress"));

    client again(o.server->port());
    again.session = c.session;
    CHECK(again.ask("ping").status == 200);
    c.send(c.post(client::make(2, "ping").dump()));
    CHECK(c.receive_until(R"("result":{}})").find("application/json") != std::string::npos);
}

TEST_CASE("what nobody asked for is not told, and the answer is plain JSON") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-11-25");
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    o.reporter(number)->progress(1, 4, {});
    o.reporter(number)->log(log_level::error, "nobody listens");
    o.reply(number, mcp::tool_output::text("done"));
    CHECK(c.receive().body["result"]["content"][0]["text"] == "done");
}

TEST_CASE("log lines are told from the level on that the client set") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-06-18");
    CHECK(error_code(c.ask("logging/setLevel", {{"level", "loud"}})) == -32602);
    CHECK(c.ask("logging/setLevel", {{"level", "notice"}}).body["result"] == json::object());
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    o.reporter(number)->log(log_level::info, "too little");
    o.reporter(number)->log(log_level::warning, "a warning");
    o.reply(number, mcp::tool_output::text("done"));
    const auto text = c.receive_until("\r\n0\r\n\r\n");
    CHECK(count(text, "notifications/message") == 1);
    CHECK(text.find(R"("data":"a warning","level":"warning","logger":"slow")") != std::string::npos);
    CHECK(text.find("retry: ") == std::string::npos); // this version takes every event for a message
}

TEST_CASE("a client that loses its stream comes back for what it missed") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-11-25");
    {
        client lost(o.server->port());
        lost.session = c.session;
        lost.send(lost.post(slow_with_progress(1).dump()));
        o.reporter(o.wait_for_call())->progress(1, std::nullopt, "seen");
        CHECK(lost.receive_until("seen").find("id: 1-2\n") != std::string::npos);
    }
    const auto number = o.wait_for_call();
    o.reporter(number)->progress(2, std::nullopt, "missed");
    client back(o.server->port());
    back.session = c.session;
    auto request = back.plain(http::verb::get);
    request.set("Last-Event-ID", "1-2");
    back.send(request);
    CHECK(back.receive_until("missed").find("seen") == std::string::npos);
    o.reply(number, mcp::tool_output::text("done"));
    CHECK(back.receive_until("done").find("id: 1-4\n") != std::string::npos);

    // The answer may be fetched again, for a while, but by nobody else.
    client once_more(o.server->port());
    once_more.session = c.session;
    request = once_more.plain(http::verb::get);
    request.set("Last-Event-ID", "1-3");
    once_more.send(request);
    CHECK(once_more.receive_until("done").find("missed") == std::string::npos);
    client stranger(o.server->port());
    stranger.initialize("2025-11-25");
    request = stranger.plain(http::verb::get);
    request.set("Last-Event-ID", "1-1");
    stranger.send(request);
    CHECK(stranger.receive_until("\r\n\r\n").ends_with("\r\n\r\n")); // its session's own stream
    o.server->set_tools({owner::echo()});
    CHECK(stranger.receive_until("list_changed").find("done") == std::string::npos);
}

TEST_CASE("a tool may end its stream before it answers") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-11-25");
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    o.reporter(number)->end_stream();
    const auto text = c.receive_until("\r\n0\r\n\r\n");
    CHECK(text.find("id: 1-1\nretry: 500\ndata: \n\n") != std::string::npos);
    o.reply(number, mcp::tool_output::text("done"));
    client back(o.server->port());
    back.session = c.session;
    auto request = back.plain(http::verb::get);
    request.set("Last-Event-ID", "1-1");
    back.send(request);
    CHECK(back.receive_until("done").find("id: 1-2\n") != std::string::npos);
}

TEST_CASE("a session that ends takes the calls with it whose clients were to come back") {
    owner o;
    client c(o.server->port());
    c.initialize("2025-11-25");
    c.send(c.post(client::call(1, "slow").dump()));
    const auto number = o.wait_for_call();
    o.reporter(number)->end_stream();
    c.receive_until("\r\n0\r\n\r\n");
    client other(o.server->port());
    other.session = c.session;
    CHECK(other.ask(other.plain(http::verb::delete_)).status == 200);
    CHECK(o.wait_for_cancel() == std::vector<std::uint64_t>{number});
}

TEST_CASE("only a number, a dash and a number are an event's id") {
    CHECK(mcp::parse_event_id("12-7")->exchange == 12);
    CHECK(mcp::parse_event_id("12-7")->sequence == 7);
    for (const auto* wrong : {"", "-", "1", "1-", "-1", "1-x", "x-1", "1-1 ", "99999999999999999999-1"}) {
        CHECK_FALSE(mcp::parse_event_id(wrong));
    }
}
