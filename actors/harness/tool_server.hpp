/// The tool server of one run: an MCP server over HTTP, and the builtin agent's way to the same tools by message. It
/// hands each call to the environment or runs it as the student.
///
/// Owner: the harness actor. It restarts nothing. When it dies, MCP clients see their connection end and every process
/// of the student is killed.
#pragma once

#include "actors/harness/messages.hpp"

namespace chalk::actors {

struct tool_server_options {
    config::mcp_server address;
    std::string bearer_token;    ///< what an MCP client has to know; a CLI agent is told
    bool record_clients = false; ///< calls over HTTP are the agent's, and go into the transcript
    confinement::student_settings student;
    bool listens = true; ///< false: there is no server, only the builtin agent's way; the port is 0
};

/// 256 random bits in hex.
[[nodiscard]] std::string random_token();

/// Linked to `self`. `owner` hears tools_listening or tool_trouble first.
tool_server_actor spawn_tool_server(caf::local_actor* self, boost::asio::io_context& io, tool_server_options options,
                                    environment_actor environment, tool_server_owner owner);

} // namespace chalk::actors
