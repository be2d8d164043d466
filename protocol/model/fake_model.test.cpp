#include "protocol/model/fake_model.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace std::chrono_literals;

namespace {

struct asked {
    boost::asio::io_context io{1};
    std::optional<model::turn_result> answer;

    void ask(model::model& m, std::size_t step, std::size_t turn, milliseconds deadline = 10s) {
        auto messages = std::make_shared<model::conversation>();
        messages->push_back({model::role::user, "12345678", {}, {}, false});
        answer.reset();
        m.next_turn({messages, std::make_shared<std::vector<mcp::tool_spec>>(), step, turn, deadline},
                    [this](model::turn_result got) {
                        CHECK_FALSE(answer);
                        answer = std::move(got);
                    });
        io.restart();
        io.run_for(20s);
        REQUIRE(answer);
    }
};

std::string why(const json& script) {
    auto parsed = model::parse_script(script);
    REQUIRE(parsed.has_error());
    CHECK(parsed.error().kind == error_class::config);
    return parsed.error().message;
}

} // namespace

TEST_CASE("the fake model plays the turns of the step that it is asked about", "[model]") {
    asked a;
    const auto script = json::parse(R"([[{"text":"a","tool_calls":[{"name":"bash","arguments":{"command":"ls"}}]},
                                         {"reasoning":"hm","stop_reason":"length"}],[{"text":"b"}]])");
    auto m = model::make_fake_model(a.io, script, 0ms);
    REQUIRE(m.has_value());
    a.ask(**m, 0, 0);
    REQUIRE(a.answer->has_value());
    const auto& first = **a.answer;
    CHECK(first.text == "a");
    CHECK(first.stopped == model::stop_reason::tool_calls);
    REQUIRE(first.tool_calls.size() == 1);
    CHECK(first.tool_calls[0].id == "call_0_0_0");
    CHECK(first.tool_calls[0].arguments == json{{"command", "ls"}});
    CHECK(first.usage.input == 2);
    CHECK(first.usage.output > 0);
    a.ask(**m, 0, 1);
    CHECK((**a.answer).stopped == model::stop_reason::length);
    CHECK((**a.answer).reasoning == "hm");
    a.ask(**m, 1, 0);
    CHECK((**a.answer).text == "b");
    CHECK((**a.answer).stopped == model::stop_reason::end);
}

TEST_CASE("past its script the fake model is an error that names step and turn", "[model]") {
    asked a;
    auto m = model::make_fake_model(a.io, json::parse(R"([[{"text":"a"}]])"), 0ms);
    REQUIRE(m.has_value());
    for (auto [step, turn] : {std::pair{0, 1}, {1, 0}}) {
        a.ask(**m, static_cast<std::size_t>(step), static_cast<std::size_t>(turn));
        REQUIRE(a.answer->has_error());
        CHECK(a.answer->error().why.kind == error_class::model);
        CHECK_THAT(a.answer->error().why.message,
                   Catch::Matchers::Contains(turn == 1 ? "no turn 1 for step 0" : "no turn 0 for step 1"));
    }
}

TEST_CASE("a latency beyond the deadline is a timeout at the deadline", "[model]") {
    asked a;
    auto m = model::make_fake_model(a.io, json::parse(R"([[{"text":"a"}]])"), 1h);
    REQUIRE(m.has_value());
    a.ask(**m, 0, 0, 5ms);
    REQUIRE(a.answer->has_error());
    CHECK(a.answer->error().why.kind == error_class::timeout);
}

TEST_CASE("a model that is gone answers nobody", "[model]") {
    boost::asio::io_context io(1);
    bool answered = false;
    for (auto latency : {0ms, 50ms}) {
        auto m = model::make_fake_model(io, json::parse(R"([[{"text":"a"}]])"), latency);
        REQUIRE(m.has_value());
        (*m)->next_turn({std::make_shared<model::conversation>(), nullptr, 0, 0, 10s}, [&](auto) { answered = true; });
        m->reset();
    }
    io.run_for(10s);
    CHECK_FALSE(answered);
}

TEST_CASE("a script of the wrong shape is refused with the place of the mistake", "[model]") {
    using Catch::Matchers::Contains;
    CHECK_THAT(why(json::object()), Contains("fake_model.script: "));
    CHECK_THAT(why(json::parse(R"([[], {}])")), Contains("script[1]"));
    CHECK_THAT(why(json::parse(R"([[3]])")), Contains("script[0][0]"));
    CHECK_THAT(why(json::parse(R"([[{"text":3}]])")), Contains("script[0][0].text"));
    CHECK_THAT(why(json::parse(R"([[{"tool_calls":[{}]}]])")), Contains("script[0][0].tool_calls[0].name"));
    CHECK_THAT(why(json::parse(R"([[{"tool_calls":[{"name":"x","arguments":[]}]}]])")), Contains("arguments"));
    CHECK_THAT(why(json::parse(R"([[{"stop_reason":"tired"}]])")), Contains("stop_reason"));
}

TEST_CASE("a script takes the place of whatever model is named", "[model]") {
    boost::asio::io_context io(1);
    CHECK(model::make_model(io, {"x", json::object(), true, json::array(), 0ms}).has_value());
    CHECK(model::make_model(io, {"x", json::object(), true, json::object(), 0ms}).has_error());
}
