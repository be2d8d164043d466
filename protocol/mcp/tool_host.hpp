/// The protocol without its transport: sessions, the list of tools, calls that are under way. Knows no socket.
///
/// Owner: the server. Lives on the io thread; only set_tools may be called from others. Sessions and calls die with it.
#pragma once

#include "protocol/mcp/schema.hpp"
#include "protocol/mcp/server.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chalk::mcp {

inline constexpr std::string_view newest_version = "2025-11-25";
[[nodiscard]] bool is_known_version(std::string_view version) noexcept;
/// JSON-RPC batches came with the first versions and went with 2025-06-18.
[[nodiscard]] bool allows_batches(std::string_view version) noexcept;

/// JSON-RPC 2.0 error codes.
enum class rpc_error : int {
    parse = -32700,
    invalid_request = -32600,
    method_not_found = -32601,
    invalid_params = -32602,
};

[[nodiscard]] json make_error(const json& id, rpc_error code, std::string_view message);
[[nodiscard]] json make_result(const json& id, json result);

struct session {
    std::string id;
    std::string version;
    std::map<json, std::uint64_t> calls; ///< by the client's request id; removed when answered or cancelled
    /// Sends one message to the client's open stream; empty when it has none.
    std::function<void(const json&)> stream;
    std::function<void()> end_stream; ///< set with `stream`
};

class tool_host : public std::enable_shared_from_this<tool_host> {
  public:
    /// Called once per request: the response, or nullopt for one that was cancelled and must not be answered.
    using answer = std::function<void(std::optional<json>)>;

    tool_host(boost::asio::io_context& io, server_handlers handlers);

    /// Any thread.
    void set_tools(std::vector<tool_spec> tools);

    /// Makes a session. Past the limit the one that was idle longest goes; nullptr when none is idle.
    [[nodiscard]] std::shared_ptr<session> open_session(const json& initialize_params);
    [[nodiscard]] std::shared_ptr<session> find_session(const std::string& id);
    /// Cancels its calls.
    void end_session(const std::string& id);
    void end_all();

    [[nodiscard]] json initialize_result(const session& of) const;
    /// Returns the call's number when `to` will be called later, 0 when it was called already.
    std::uint64_t request(session& from, const json& id, const std::string& method, const json& params, answer to);
    void notification(session& from, const std::string& method, const json& params);
    /// The client went away: cancels the call if it is still under way.
    void abandon(std::uint64_t number);

  private:
    struct tool_table {
        json listed = json::array();
        std::unordered_map<std::string, std::shared_ptr<const compiled_schema>> by_name;
    };
    struct open_call {
        std::weak_ptr<session> from;
        json id;
        answer to;
    };

    std::uint64_t call_tool(session& from, const json& id, const json& params, answer to);
    void replied(std::uint64_t number, tool_output output);
    void cancel(std::uint64_t number);

    boost::asio::io_context& io_;
    server_handlers handlers_;
    std::shared_ptr<const tool_table> tools_;
    std::list<std::shared_ptr<session>> sessions_; ///< the most recently used first
    std::unordered_map<std::string, std::list<std::shared_ptr<session>>::iterator> by_id_;
    std::unordered_map<std::uint64_t, open_call> calls_;
    std::uint64_t next_call_ = 1;
};

} // namespace chalk::mcp
