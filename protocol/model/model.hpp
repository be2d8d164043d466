/// What the builtin agent asks for its next turn. One interface for the fake model, for real APIs (api_model.hpp) and
/// for whoever thinks behind a backend (external_model.hpp).
///
/// Owner: the agent actor. A model keeps no conversation: every request carries all of it.
#pragma once

#include "protocol/event/event.hpp"
#include "protocol/mcp/server.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace chalk::model {

enum class role { system, user, assistant, tool };

/// One message of the conversation as a model sees it.
struct message {
    role from = role::user;
    std::string text;
    std::vector<tool_call> tool_calls; ///< of the assistant
    std::string call_id;               ///< of a tool's result: which call it answers
    bool is_error = false;             ///< of a tool's result
    /// Of the assistant: what its provider wants to see again unchanged, such as signed reasoning. Made and read by one
    /// dialect alone; null where there is none.
    json provider_items = {};
};

using conversation = std::vector<message>;

struct request {
    /// Not changed by anyone while the request is open.
    std::shared_ptr<const conversation> messages;
    std::shared_ptr<const std::vector<mcp::tool_spec>> tools;
    std::size_t step = 0; ///< the task's step, from 0
    std::size_t turn = 0; ///< the step's turn, from 0
    milliseconds deadline{0};
};

enum class stop_reason {
    end,        ///< the model had no more to say
    tool_calls, ///< it waits for results
    length,     ///< cut off at the limit on output tokens
    paused,     ///< the provider paused a long turn: it goes on when the conversation is sent again
    refusal,    ///< the model or its provider will not answer
    context,    ///< cut off because the model's context is full
};

[[nodiscard]] std::string_view to_string(stop_reason reason) noexcept;

struct turn {
    std::string text;
    std::string reasoning;
    std::vector<tool_call> tool_calls;
    stop_reason stopped = stop_reason::end;
    token_usage usage;
    /// What is wrong with each call's arguments, for the model to read; empty where nothing is. As long as
    /// `tool_calls`, or empty when all are fine. The arguments of a call with a defect are what the model wrote, as a
    /// JSON string.
    std::vector<std::string> call_defects = {};
    json provider_items = {}; ///< see message
};

/// Why there is no turn.
struct turn_failure {
    enum class what {
        ended,            ///< asking again would not help, or the wait is over
        aborted,          ///< the stream broke, or never began: the turn may be asked for again as a whole
        context_overflow, ///< the conversation is longer than the model can read
        token_budget,     ///< the tokens that the run may use are used, says the gateway
        usd_budget        ///< so are its dollars
    };

    turn_failure() = default; // error() of a result needs it
    turn_failure(failure reason, what kind_of = what::ended, turn so_far = {})
        : why(std::move(reason)), kind(kind_of), half(std::move(so_far)) {}

    failure why;
    what kind = what::ended;
    turn half; ///< what had come by then; its usage counts as spent
};

using turn_result = boost::system::result<turn, turn_failure>;

/// Called by boost::system::result when value() is asked of a failure: a programming error.
[[noreturn]] void throw_exception_from_error(const turn_failure& failed, const boost::source_location& where);

class model {
  public:
    model() = default;
    model(const model&) = delete;
    model& operator=(const model&) = delete;
    /// Open requests are dropped: their `done` does not run any more.
    virtual ~model() = default;

    /// Any thread; one request at a time. `done` runs on the io thread, once, at the latest when `deadline` has passed
    /// (error_class::timeout). Other failures are error_class::model. A request is sent once: who wants to try again
    /// after a stream broke (turn_failure::what::aborted) asks for the turn again.
    virtual void next_turn(request what, std::function<void(turn_result)> done) = 0;
};

/// Which model a run uses, out of its config.
struct model_settings {
    std::string name; ///< PROVIDER/NAME, see api_model.hpp
    json args = json::object();
    bool use_fake = false;
    json script = json::array(); ///< see fake_model.hpp
    milliseconds latency{0};
    /// Where a real model is asked: the node's gateway, which holds the keys. The path of a unix socket, or HOST:PORT.
    std::string gateway_socket = {};
    bool external = false; ///< the backend thinks, see external_model.hpp; `name` and `args` say nothing then
};

/// error_class::config: an unknown provider, arguments that a dialect cannot use, no gateway, a bad script. Call it
/// before anything is started.
[[nodiscard]] result<void> check_model(const model_settings& settings);
[[nodiscard]] result<std::unique_ptr<model>> make_model(boost::asio::io_context& io, const model_settings& settings);

} // namespace chalk::model
