/// What the builtin agent asks for its next turn. One interface for the fake model and, later, for real APIs.
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
};

[[nodiscard]] std::string_view to_string(stop_reason reason) noexcept;

struct turn {
    std::string text;
    std::string reasoning;
    std::vector<tool_call> tool_calls;
    stop_reason stopped = stop_reason::end;
    token_usage usage;
};

class model {
  public:
    model() = default;
    model(const model&) = delete;
    model& operator=(const model&) = delete;
    /// Open requests are dropped: their `done` does not run any more.
    virtual ~model() = default;

    /// Any thread; one request at a time. `done` runs on the io thread, once, at the latest when `deadline` has passed
    /// (error_class::timeout). Other failures are error_class::model.
    virtual void next_turn(request what, std::function<void(result<turn>)> done) = 0;
};

/// Which model a run uses, out of its config.
struct model_settings {
    std::string name;
    json args = json::object();
    bool use_fake = false;
    json script = json::array(); ///< see fake_model.hpp
    milliseconds latency{0};
};

/// error_class::config: this build has no client for a real model. Call it before anything is started.
[[nodiscard]] result<void> check_model(const model_settings& settings);
[[nodiscard]] result<std::unique_ptr<model>> make_model(boost::asio::io_context& io, const model_settings& settings);

} // namespace chalk::model
