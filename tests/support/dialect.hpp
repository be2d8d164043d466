/// For the dialects' tests: a stream is read in pieces of every small size, and each has to give the same turn.
#pragma once

#include "protocol/model/dialect/dialect.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <initializer_list>

namespace chalk::model::testing {

struct asked {
    std::shared_ptr<conversation> messages = std::make_shared<conversation>();
    std::shared_ptr<std::vector<mcp::tool_spec>> tools = std::make_shared<std::vector<mcp::tool_spec>>();

    void say(message one) { messages->push_back(std::move(one)); }
    [[nodiscard]] chalk::model::request request() const { return {messages, tools, 1, 2, milliseconds{1000}}; }
};

inline std::string stream_of(std::initializer_list<std::string> events) {
    std::string all;
    for (const auto& one : events) {
        all += "data: " + one + "\n\n";
    }
    return all;
}

inline turn_result read_in_pieces(const dialect& of, std::string_view stream, std::size_t piece,
                                  std::string_view broke) {
    const auto reader = of.make_reader("call_1_2");
    sse_parser parser(64U << 20U);
    const auto on_event = [&](sse_event&& e) { return reader->on_event(std::move(e)); };
    bool more = true;
    for (std::size_t at = 0; at < stream.size() && more; at += piece) {
        more = parser.feed(stream.substr(at, piece), on_event);
    }
    if (more) {
        parser.finish(on_event);
    }
    return reader->finish(broke);
}

inline json as_json(const turn& one) {
    json calls = json::array();
    for (const auto& call : one.tool_calls) {
        calls.push_back({call.id, call.name, call.arguments});
    }
    return {one.text,
            one.reasoning,
            calls,
            to_string(one.stopped),
            one.call_defects,
            one.provider_items,
            {one.usage.input, one.usage.cached, one.usage.output, one.usage.reasoning}};
}

inline turn read_turn(const dialect& of, std::string_view stream, std::string_view broke = {}) {
    auto whole = read_in_pieces(of, stream, std::max<std::size_t>(stream.size(), 1), broke);
    if (!whole) {
        FAIL(whole.error().why.message);
    }
    if (stream.size() < 10'000) {
        for (const std::size_t piece : {1, 2, 7}) {
            auto same = read_in_pieces(of, stream, piece, broke);
            REQUIRE(same.has_value());
            CHECK(as_json(*same) == as_json(*whole));
        }
    }
    return std::move(*whole);
}

inline turn_failure read_failure(const dialect& of, std::string_view stream, std::string_view broke = {},
                                 std::size_t piece = 1) {
    auto got = read_in_pieces(of, stream, piece, broke);
    REQUIRE(got.has_error());
    return got.error();
}

/// The next request's body when `said` was the answer to "go".
inline json body_after(const dialect& of, turn said) {
    asked a;
    a.say({role::user, "go", {}, {}, false});
    a.say({role::assistant, said.text, said.tool_calls, {}, false, said.provider_items});
    for (const auto& call : said.tool_calls) {
        a.say({role::tool, "done", {}, call.id, false});
    }
    return of.make_request(a.request(), "some-model", json::object()).body;
}

} // namespace chalk::model::testing
