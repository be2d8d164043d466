/// The protocol without its transport: sessions, the list of tools, calls that are under way. Knows no socket.
///
/// Owner: the server. Lives on the io thread; only set_tools may be called from others. Sessions and calls die with it.
#pragma once

#include "protocol/mcp/param_headers.hpp"
#include "protocol/mcp/schema.hpp"
#include "protocol/mcp/server.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace chalk::mcp {

class exchange;

struct session {
    std::string id; ///< empty: of a version without sessions, made for one POST
    std::string version;
    std::optional<int> log_severity;     ///< of the least that is told (results.hpp); nullopt: nothing is
    std::map<json, std::uint64_t> calls; ///< by the client's request id; removed when answered or cancelled
    /// Sends one message to the client's open stream; empty when it has none.
    std::function<void(const json&)> stream;
    std::function<void()> end_stream;                             ///< set with `stream`
    std::map<std::uint64_t, std::shared_ptr<exchange>> exchanges; ///< that stream and may be resumed

    [[nodiscard]] bool stateless() const noexcept { return id.empty(); }
};

/// Where what belongs to one request goes.
struct call_route {
    /// Called once: the response, or nullopt for a request that was cancelled and must not be answered.
    std::function<void(std::optional<json>)> answer;
    /// A message before the answer.
    std::function<void(const json&)> notify;
    std::function<void()> end_stream;
};

class tool_host : public std::enable_shared_from_this<tool_host> {
  public:
    tool_host(boost::asio::io_context& io, server_handlers handlers);

    /// Any thread.
    void set_tools(std::vector<tool_spec> tools);

    /// Makes a session. Past the limit the one that was idle longest goes; nullptr when none is idle.
    [[nodiscard]] std::shared_ptr<session> open_session(const json& initialize_params);
    [[nodiscard]] std::shared_ptr<session> find_session(const std::string& id);
    /// Cancels its calls.
    void end_session(const std::string& id);
    void end_all();

    /// What stands for a session in a version without: for one POST, and not counted.
    [[nodiscard]] static std::shared_ptr<session> stateless_session(const json& params);

    /// What check_param_headers says of a message of 2026-07-28; nullopt for all but the call of a tool that is known.
    [[nodiscard]] std::optional<rpc_failure> check_mirrored(const header& request, const json& message) const;

    [[nodiscard]] static json initialize_result(const session& of);
    /// Returns the call's number when `to.answer` will be called later, 0 when it was called already.
    std::uint64_t request(const std::shared_ptr<session>& from, const json& id, const std::string& method,
                          const json& params, call_route to);
    void notification(session& from, const std::string& method, const json& params);
    /// The client went away: cancels the call if it is still under way.
    void abandon(std::uint64_t number);

    /// The number under which `of` lies in the session until forget_exchange; 0 when it cannot be resumed.
    std::uint64_t keep_for_resumption(session& in, std::shared_ptr<exchange> of);
    static void forget_exchange(session& in, std::uint64_t number);

  private:
    struct offered_tool {
        std::shared_ptr<const compiled_schema> schema;
        std::vector<mirrored_parameter> mirrored;
    };
    struct tool_table {
        json listed = json::array();
        std::unordered_map<std::string, offered_tool> by_name;
    };
    struct open_call {
        std::weak_ptr<session> from;
        json id;
        call_route to;
        std::string tool;               ///< empty: not a call but a subscription to changes
        json progress_token;            ///< null: none
        std::optional<double> progress; ///< the last that was told
        bool hears_of_tools = false;
    };
    class reporter;

    std::uint64_t call_tool(const std::shared_ptr<session>& from, const json& id, const json& params, call_route to);
    std::uint64_t subscribe(const std::shared_ptr<session>& from, const json& id, const json& params, call_route to);
    [[nodiscard]] json tool_list(const session& of) const;
    void tell_of_changed_tools();
    void replied(std::uint64_t number, tool_output output);
    void progressed(std::uint64_t number, double done, std::optional<double> total, std::string message);
    void logged(std::uint64_t number, log_level level, std::string text);
    void end_stream(std::uint64_t number);
    void cancel(std::uint64_t number);

    boost::asio::io_context& io_;
    server_handlers handlers_;
    std::shared_ptr<const tool_table> tools_;
    std::list<std::shared_ptr<session>> sessions_; ///< the most recently used first
    std::unordered_map<std::string, std::list<std::shared_ptr<session>>::iterator> by_id_;
    std::unordered_map<std::uint64_t, open_call> calls_;
    std::uint64_t next_call_ = 1;
    std::uint64_t next_exchange_ = 1;
};

} // namespace chalk::mcp
