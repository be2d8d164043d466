/// The tools of one run: the environment's and the builtin ones that it turned on. Pure: it looks up and checks, the
/// tool server calls.
#pragma once

#include "protocol/mcp/server.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace chalk::actors {

class tool_registry {
  public:
    struct entry {
        mcp::tool_spec spec;
        bool builtin = false;
        milliseconds timeout{0}; ///< of the environment's tools
    };

    /// `tools` and `builtin` as configure_tools gave them. error_class::task for a malformed or unknown one and for a
    /// name given twice.
    [[nodiscard]] static result<tool_registry> make(const json& tools, const std::vector<std::string>& builtin);

    /// The tool, with arguments that fit it; or what to tell the model: no such tool (and which there are), or which
    /// argument is wrong.
    [[nodiscard]] boost::system::result<const entry*, mcp::tool_output> find(const tool_call& call) const;
    /// Null when there is none.
    [[nodiscard]] const entry* find(const std::string& name) const;

    /// In the order in which they were given.
    [[nodiscard]] std::vector<mcp::tool_spec> specs() const;
    [[nodiscard]] bool has_builtin() const;

  private:
    std::vector<entry> entries_;
    std::map<std::string, std::size_t, std::less<>> by_name_;
};

} // namespace chalk::actors

namespace chalk::mcp {
/// Called by boost::system::result when value() is asked of an error: a programming error.
[[noreturn]] void throw_exception_from_error(const tool_output& why, const boost::source_location&);
} // namespace chalk::mcp
