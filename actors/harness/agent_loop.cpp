#include "actors/harness/agent_loop.hpp"

#include "config/defaults.hpp"

#include <fmt/format.h>

namespace chalk::actors {

namespace {

constexpr const char* go_on_text = "Your last turn held neither text nor a tool call. Go on with the task: call a "
                                   "tool, or answer in text when you are "
                                   "done.";

model::role to_model_role(message_role role) {
    switch (role) {
    case message_role::system:
        return model::role::system;
    case message_role::assistant:
        return model::role::assistant;
    case message_role::user:
        break;
    }
    return model::role::user;
}

} // namespace

agent_loop::agent_loop(config::limits limits) : limits_(limits) {}

void agent_loop::hear(message_role role, std::string text) {
    messages_->push_back({to_model_role(role), std::move(text), {}, {}, false});
}

agent_loop::commands agent_loop::begin_step(std::size_t step, time_point now) {
    step_ = step;
    turns_ = 0;
    empty_turns_ = 0;
    began_ = now;
    return go_on({}, now);
}

agent_loop::commands agent_loop::on_turn(model::turn turn, milliseconds duration, time_point now) {
    ++turns_;
    context_tokens_ = turn.usage.input + turn.usage.output;
    commands next;
    next.emplace_back(
        record{message_added{message_role::assistant, turn.text, std::move(turn.reasoning), turn.tool_calls,
                             std::string(to_string(turn.stopped)), turn.usage, duration}});
    const bool empty = turn.text.empty() && turn.tool_calls.empty();
    messages_->push_back({model::role::assistant, std::move(turn.text), turn.tool_calls, {}, false});
    if (empty) {
        if (++empty_turns_ > config::defaults::empty_turns) {
            next.emplace_back(fail{model_failure(fmt::format(
                "step {}: {} turns in a row held neither text nor a tool call (the last one stopped for: {})", step_,
                empty_turns_, to_string(turn.stopped)))});
            return next;
        }
        hear(message_role::user, go_on_text);
        next.emplace_back(record{message_added{message_role::user, go_on_text, {}, {}, {}, std::nullopt, {}}});
        return go_on(std::move(next), now);
    }
    empty_turns_ = 0;
    if (turn.tool_calls.empty()) {
        next.emplace_back(finish_step{});
        return next;
    }
    open_calls_.assign(std::make_move_iterator(turn.tool_calls.begin()),
                       std::make_move_iterator(turn.tool_calls.end()));
    next.emplace_back(call_tool{open_calls_.front()});
    return next;
}

agent_loop::commands agent_loop::on_tool_output(const mcp::tool_output& output, milliseconds duration, time_point now) {
    if (open_calls_.empty()) {
        return {fail{harness_failure(fmt::format("step {}: a tool's output came when no call was open", step_))}};
    }
    auto call = std::move(open_calls_.front());
    open_calls_.pop_front();
    auto text = output.as_text();
    messages_->push_back({model::role::tool, text, {}, call.id, output.is_error});
    commands next;
    next.emplace_back(record{tool_result{std::move(call.id), std::move(call.name), std::move(text), output.is_error,
                                         output.truncated, duration}});
    if (!open_calls_.empty()) {
        next.emplace_back(call_tool{open_calls_.front()});
        return next;
    }
    return go_on(std::move(next), now);
}

agent_loop::commands agent_loop::go_on(commands before, time_point now) {
    if (auto limit = reached(now)) {
        before.emplace_back(record{std::move(*limit)});
        before.emplace_back(finish_step{});
    } else {
        before.emplace_back(ask_model{step_, turns_});
    }
    return before;
}

std::optional<limit_reached> agent_loop::reached(time_point now) const {
    if (limits_.max_turns && turns_ >= *limits_.max_turns) {
        return limit_reached{limit_kind::turns, turns_,
                             fmt::format("step {}: the limit of {} turns is reached", step_, *limits_.max_turns)};
    }
    if (limits_.max_time && now - began_ >= *limits_.max_time) {
        const auto spent = std::chrono::duration_cast<milliseconds>(now - began_);
        return limit_reached{limit_kind::time, static_cast<std::uint64_t>(spent.count()),
                             fmt::format("step {}: the limit of {} s is reached", step_, limits_.max_time->count())};
    }
    if (limits_.max_context_tokens && context_tokens_ >= *limits_.max_context_tokens) {
        return limit_reached{
            limit_kind::context_tokens, context_tokens_,
            fmt::format("step {}: the limit of {} tokens of context is reached", step_, *limits_.max_context_tokens)};
    }
    return std::nullopt;
}

} // namespace chalk::actors
