#include "actors/harness/agent_loop.hpp"

#include "config/defaults.hpp"

#include <fmt/format.h>

#include <algorithm>

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

bool holds_anything(const model::turn& half) {
    return !half.text.empty() || !half.reasoning.empty() || !half.tool_calls.empty() || half.usage.input > 0 ||
           half.usage.output > 0;
}

event_body message_of(model::turn& turn, std::string_view stop_reason, milliseconds duration, bool aborted) {
    return message_added{message_role::assistant,
                         turn.text,
                         std::move(turn.reasoning),
                         turn.tool_calls,
                         std::string(stop_reason),
                         turn.usage,
                         duration,
                         aborted};
}

} // namespace

agent_loop::agent_loop(config::limits limits, milliseconds turn_deadline)
    : watch_(limits), turn_deadline_(turn_deadline) {}

void agent_loop::hear(message_role role, std::string text) {
    messages_->push_back({to_model_role(role), std::move(text), {}, {}, false});
}

agent_loop::commands agent_loop::begin_step(std::size_t step, time_point now) {
    step_ = step;
    watch_.begin_step(step, now);
    empty_turns_ = 0;
    paused_turns_ = 0;
    aborted_turns_ = 0;
    return go_on({}, now);
}

agent_loop::commands agent_loop::on_turn(model::turn turn, milliseconds duration, time_point now) {
    watch_.add_turn();
    watch_.add_model_wait(duration, turn.usage);
    watch_.set_context(turn.usage.input + turn.usage.output);
    aborted_turns_ = 0;
    const auto stopped = turn.stopped;
    commands next;
    next.emplace_back(record{message_of(turn, to_string(stopped), duration, false)});
    if (stopped == model::stop_reason::refusal || stopped == model::stop_reason::context) {
        // The step ends, so its calls are not made; a conversation that held them would ask for their results.
        turn.tool_calls.clear();
        turn.provider_items = nullptr;
        remember(turn);
        return stopped == model::stop_reason::context
                   ? end_for(std::move(next), context_is_full("the turn was cut off"), now)
                   : finish(std::move(next), now);
    }
    const bool silent = turn.text.empty() && turn.tool_calls.empty();
    remember(turn);
    if (silent || (stopped == model::stop_reason::paused && turn.tool_calls.empty())) {
        return on_silent_turn(std::move(next), stopped, now);
    }
    empty_turns_ = 0;
    paused_turns_ = 0;
    if (turn.tool_calls.empty()) {
        return finish(std::move(next), now);
    }
    turn.call_defects.resize(turn.tool_calls.size());
    for (std::size_t i = 0; i < turn.tool_calls.size(); ++i) {
        open_calls_.push_back({std::move(turn.tool_calls[i]), std::move(turn.call_defects[i])});
    }
    return call_next(std::move(next), now);
}

/// The model had nothing to say, or its provider wants the conversation again to let it go on.
agent_loop::commands agent_loop::on_silent_turn(commands before, model::stop_reason stopped, time_point now) {
    if (stopped == model::stop_reason::paused) {
        if (++paused_turns_ > config::defaults::paused_turns) {
            before.emplace_back(fail{
                model_failure(fmt::format("step {}: the provider paused {} turns in a row", step_, paused_turns_))});
            return before;
        }
        return go_on(std::move(before), now);
    }
    if (++empty_turns_ > config::defaults::empty_turns) {
        before.emplace_back(fail{model_failure(
            fmt::format("step {}: {} turns in a row held neither text nor a tool call (the last one stopped for: {})",
                        step_, empty_turns_, to_string(stopped)))});
        return before;
    }
    hear(message_role::user, go_on_text);
    before.emplace_back(record{message_added{message_role::user, go_on_text, {}, {}, {}, std::nullopt, {}}});
    return go_on(std::move(before), now);
}

agent_loop::commands agent_loop::on_failed_turn(model::turn_failure failed, milliseconds duration, time_point now) {
    using what = model::turn_failure::what;
    watch_.add_model_wait(duration, failed.half.usage);
    commands next;
    if (failed.kind == what::aborted || holds_anything(failed.half)) {
        next.emplace_back(record{message_of(failed.half, {}, duration, true)});
    }
    if (failed.kind == what::context_overflow) {
        return end_for(std::move(next), context_is_full(failed.why.message), now);
    }
    if (failed.kind == what::token_budget || failed.kind == what::usd_budget) {
        const bool dollars = failed.kind == what::usd_budget;
        const auto& used = watch_.run_use();
        return end_for(std::move(next),
                       {dollars ? limit_kind::usd : limit_kind::total_tokens,
                        dollars ? to_micros(used.usd) : used.tokens,
                        fmt::format("step {}: the run's budget is spent: {}", step_, failed.why.message)},
                       now);
    }
    // A request has no more time than the step, so the limit on time may be what it ran into.
    if (failed.why.kind == error_class::timeout) {
        if (auto limit = watch_.reached(now)) {
            return end_for(std::move(next), std::move(*limit), now);
        }
    }
    if (failed.kind == what::aborted && ++aborted_turns_ <= config::defaults::aborted_turns) {
        return go_on(std::move(next), now);
    }
    if (failed.kind == what::aborted) {
        failed.why.message += fmt::format(" (it was the {}th time in a row)", aborted_turns_);
    }
    next.emplace_back(fail{std::move(failed.why)});
    return next;
}

agent_loop::commands agent_loop::on_tool_output(const mcp::tool_output& output, milliseconds duration, time_point now) {
    if (open_calls_.empty()) {
        return {fail{harness_failure(fmt::format("step {}: a tool's output came when no call was open", step_))}};
    }
    auto call = std::move(open_calls_.front());
    open_calls_.pop_front();
    commands next;
    answer(next, std::move(call), output, duration);
    return call_next(std::move(next), now);
}

/// Calls that cannot be made are answered here, each in its turn.
agent_loop::commands agent_loop::call_next(commands before, time_point now) {
    while (!open_calls_.empty() && !open_calls_.front().defect.empty()) {
        auto call = std::move(open_calls_.front());
        open_calls_.pop_front();
        const auto output = mcp::tool_output::text(call.defect, true);
        answer(before, std::move(call), output, {});
    }
    if (open_calls_.empty()) {
        return go_on(std::move(before), now);
    }
    before.emplace_back(call_tool{open_calls_.front().call});
    return before;
}

void agent_loop::answer(commands& into, open_call open, const mcp::tool_output& output, milliseconds duration) {
    auto& call = open.call;
    auto text = output.as_text();
    messages_->push_back({model::role::tool, text, {}, call.id, output.is_error});
    into.emplace_back(record{tool_result{std::move(call.id), std::move(call.name), std::move(text), output.is_error,
                                         output.truncated, duration}});
}

void agent_loop::remember(model::turn& turn) {
    messages_->push_back(
        {model::role::assistant, turn.text, turn.tool_calls, {}, false, std::move(turn.provider_items)});
}

agent_loop::commands agent_loop::go_on(commands before, time_point now) {
    if (auto limit = watch_.reached(now)) {
        return end_for(std::move(before), std::move(*limit), now);
    }
    before.emplace_back(
        ask_model{step_, watch_.turns(), std::min(turn_deadline_, watch_.time_left(now).value_or(turn_deadline_))});
    return before;
}

agent_loop::commands agent_loop::end_for(commands before, limit_reached limit, time_point now) {
    before.emplace_back(record{std::move(limit)});
    return finish(std::move(before), now);
}

agent_loop::commands agent_loop::finish(commands before, time_point now) {
    watch_.end_step(now);
    before.emplace_back(finish_step{});
    return before;
}

limit_reached agent_loop::context_is_full(std::string_view why) const {
    return {limit_kind::context_tokens, watch_.context_tokens(),
            fmt::format("step {}: the model's context is full: {}", step_, why)};
}

} // namespace chalk::actors
