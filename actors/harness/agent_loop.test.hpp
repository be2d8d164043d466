/// Turns and answers for the tests of the agent's loop.
#pragma once

#include "actors/harness/agent_loop.hpp"
#include "tests/support/catch.hpp"

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace chalk::test {

using actors::agent_loop;

inline model::turn text_turn(std::string text) {
    return {std::move(text), {}, {}, model::stop_reason::end, {}};
}

inline model::turn calling(std::vector<std::string> tools) {
    model::turn turn;
    for (auto& name : tools) {
        turn.tool_calls.push_back({"id-" + name, name, json::object()});
    }
    turn.stopped = model::stop_reason::tool_calls;
    return turn;
}

inline model::turn empty_turn() {
    return {{}, "thinking", {}, model::stop_reason::length, {}};
}

inline const mcp::tool_output good{{{{"type", "text"}, {"text", "ok"}}}, false, false};
inline const agent_loop::time_point t0{};

template<class Command>
const Command& at(const agent_loop::commands& all, std::size_t index) {
    REQUIRE(index < all.size());
    REQUIRE(std::holds_alternative<Command>(all[index]));
    return std::get<Command>(all[index]);
}

using failed_turn = model::turn_failure;

/// Half a turn, of 40 tokens.
inline failed_turn broken_stream() {
    model::turn half;
    half.text = "half";
    half.usage.input = 30;
    half.usage.output = 10;
    return {model_failure("the stream broke"), failed_turn::what::aborted, half};
}

} // namespace chalk::test
