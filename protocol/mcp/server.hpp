/// An MCP tool server over Streamable HTTP (Boost.Beast). Specification: modelcontextprotocol.io, 2026-07-28 and, with
/// sessions, 2025-11-25 and older: "Transports" and "Tools"; docs/protocols/mcp.md has what is answered how. It knows
/// no tool: it validates arguments against their JSON Schema (draft 7, Valijson) and hands calls to its owner.
///
/// Owner: the harness's tool server actor. Sessions and open calls die with it; a client then sees its connection end.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/event/event.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::mcp {

struct tool_spec {
    std::string name;
    std::string description;
    json input_schema = {{"type", "object"}}; ///< JSON Schema, draft 7
};

/// What a tool gives back. `content` are MCP content blocks (text, image, audio, resource).
struct tool_output {
    std::vector<json> content;
    bool is_error = false;
    bool truncated = false;

    [[nodiscard]] static tool_output text(std::string text, bool is_error = false);
    /// All text blocks, joined by line breaks; other blocks as `[image]` and so on.
    [[nodiscard]] std::string as_text() const;
};

/// How a tool that is under way speaks to whoever called it. Any thread, and it never fails: what the client did not
/// ask for, and what comes after the reply, is dropped.
class call_reporter {
  public:
    call_reporter() = default;
    call_reporter(const call_reporter&) = delete;
    call_reporter& operator=(const call_reporter&) = delete;
    virtual ~call_reporter() = default;

    /// `done` of `total`, in whatever unit the tool likes. One that is not more than the last is dropped.
    virtual void progress(double done, std::optional<double> total, std::string message) = 0;
    /// `text` is UTF-8, of any length.
    virtual void log(log_level level, std::string text) = 0;
    /// Frees the client's connection for a tool that takes long; the client comes back for the result.
    virtual void end_stream() = 0;
};

struct call_request {
    std::uint64_t number = 0; ///< unique in this server
    std::string name;
    json arguments;
    std::shared_ptr<call_reporter> reporter; ///< never null; may outlive the server
};

/// Callbacks run on the io context's thread and must not block. `reply` may be called from any thread, once.
struct server_handlers {
    std::function<void(call_request, std::function<void(tool_output)> reply)> on_call;
    /// The client cancelled or went away; the reply is then dropped.
    std::function<void(std::uint64_t number)> on_cancel;
};

struct server_options {
    std::string host = "127.0.0.1";
    std::uint16_t port = 0;   ///< 0: any free one
    std::string bearer_token; ///< empty: none is asked for
};

/// Can `tool` be offered? error_class::task: no name, a name that is too long or has odd characters, or a schema that
/// is not an object's, cannot be compiled or has an x-mcp-header where none may be. server::set_tools leaves such a
/// tool out of the list.
[[nodiscard]] result<void> check_tool(const tool_spec& tool);

/// Checks `arguments` against `schema`. On failure a message for a model to act on: the path, what was expected.
[[nodiscard]] result<void> validate_arguments(const tool_spec& tool, const json& arguments);

class server {
  public:
    /// Listening when it returns. error_class::config when the address cannot be bound.
    [[nodiscard]] static result<std::shared_ptr<server>> listen(boost::asio::io_context& io, server_options options,
                                                                server_handlers handlers);
    server() = default;
    server(const server&) = delete;
    server& operator=(const server&) = delete;
    virtual ~server() = default;

    [[nodiscard]] virtual std::uint16_t port() const noexcept = 0;
    /// Any thread. Replaces the list; sessions are told by notifications/tools/list_changed. Calls that are under way
    /// go on.
    virtual void set_tools(std::vector<tool_spec> tools) = 0;
    /// Any thread. Ends every session and stops listening.
    virtual void close() = 0;
};

} // namespace chalk::mcp
