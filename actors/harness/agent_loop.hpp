/// The builtin agent's decisions, without actors, IO or clock: model turn, tool calls one at a time, their results, the
/// next turn, until a turn asks for no tool or a limit is reached. A turn whose stream broke is asked for again.
///
/// Owner: the agent actor. Holds the conversation, which dies with it; what was said is in the events.
#pragma once

#include "actors/harness/limit_watch.hpp"
#include "config/defaults.hpp"
#include "protocol/model/model.hpp"

#include <deque>
#include <variant>
#include <vector>

namespace chalk::actors {

class agent_loop {
  public:
    using time_point = limit_watch::time_point;

    struct record {
        event_body body;
    };
    struct ask_model {
        std::size_t step = 0;
        std::size_t turn = 0;
        milliseconds deadline{0};
    };
    struct call_tool {
        tool_call call;
    };
    struct finish_step {};
    struct fail {
        failure why;
    };
    using command = std::variant<record, ask_model, call_tool, finish_step, fail>;
    using commands = std::vector<command>;

    /// `turn_deadline`: the longest that one turn may take.
    explicit agent_loop(config::limits limits, milliseconds turn_deadline = config::defaults::model_turn);

    /// A message of the harness: the system prompt or a step's instructions.
    void hear(message_role role, std::string text);

    [[nodiscard]] commands begin_step(std::size_t step, time_point now);
    /// What the run's model calls have cost so far: before the turn or the failure after which it was asked for.
    void on_spent(double usd) { watch_.set_usd(usd); }
    /// Whether on_spent is needed.
    [[nodiscard]] bool limits_usd() const noexcept { return watch_.limits_usd(); }
    [[nodiscard]] commands on_turn(model::turn turn, milliseconds duration, time_point now);
    [[nodiscard]] commands on_failed_turn(model::turn_failure failed, milliseconds duration, time_point now);
    /// `duration` of the call, not of its wait.
    [[nodiscard]] commands on_tool_output(const mcp::tool_output& output, milliseconds duration, time_point now);

    /// For a model request: nothing of it changes until the request is answered.
    [[nodiscard]] std::shared_ptr<const model::conversation> messages() const { return messages_; }

  private:
    struct open_call {
        tool_call call;
        std::string defect; ///< why the tool cannot be called, or empty
    };

    commands go_on(commands before, time_point now);
    commands call_next(commands before, time_point now);
    commands on_silent_turn(commands before, model::stop_reason stopped, time_point now);
    commands end_for(commands before, limit_reached limit, time_point now);
    commands finish(commands before, time_point now);
    void answer(commands& into, open_call call, const mcp::tool_output& output, milliseconds duration);
    void remember(model::turn& turn);
    [[nodiscard]] limit_reached context_is_full(std::string_view why) const;

    limit_watch watch_;
    milliseconds turn_deadline_;
    std::shared_ptr<model::conversation> messages_ = std::make_shared<model::conversation>();
    std::deque<open_call> open_calls_;
    std::size_t step_ = 0;
    // In a row:
    unsigned empty_turns_ = 0;
    unsigned paused_turns_ = 0;
    unsigned aborted_turns_ = 0;
};

} // namespace chalk::actors
