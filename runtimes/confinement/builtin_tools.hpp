/// The tools that chalk itself brings: bash, read_file, write_file, edit_file. All run as the student.
///
/// Owner: the harness's tool server actor, beside its student_commands. No state but an open descriptor.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/mcp/server.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::confinement {

/// All of them, in the order in which they are listed.
[[nodiscard]] const std::vector<mcp::tool_spec>& builtin_tool_specs();
/// Null when chalk has no such tool.
[[nodiscard]] const mcp::tool_spec* find_builtin_tool(std::string_view name);

class builtin_tools {
  public:
    /// error_class::harness when the file tool (student_settings::file_tool) cannot be opened: a broken bundle.
    [[nodiscard]] static result<std::shared_ptr<builtin_tools>> make(std::shared_ptr<student_commands> commands);
    builtin_tools() = default;
    builtin_tools(const builtin_tools&) = delete;
    builtin_tools& operator=(const builtin_tools&) = delete;
    virtual ~builtin_tools() = default;

    /// Any thread. `arguments` must have passed mcp::validate_arguments. `done` runs once, on the io thread or, for
    /// arguments that no process is started for, at once (then the number is 0): a failure is the sandbox's, what the
    /// tool itself has to complain about is an output with is_error. Returns the number for student_commands::cancel.
    virtual std::uint64_t run(std::string_view name, const json& arguments,
                              std::function<void(result<mcp::tool_output>)> done) = 0;
};

} // namespace chalk::confinement
