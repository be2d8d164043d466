/// Arguments of a tool that a client repeats in headers, so that proxies may route by them: `"x-mcp-header": "Region"`
/// in a parameter's schema asks for `Mcp-Param-Region`. A header that does not say what the body says is refused. Pure
/// functions. Specification: modelcontextprotocol.io, 2026-07-28, "Streamable HTTP", "Custom Headers from Tool
/// Parameters".
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/mcp/http_rules.hpp"
#include "protocol/mcp/json_rpc.hpp"

#include <optional>
#include <string>
#include <vector>

namespace chalk::mcp {

struct mirrored_parameter {
    std::string name;              ///< of Mcp-Param-<name>, whatever its case
    std::vector<std::string> path; ///< of keys, from the arguments
};

/// Those of `schema`, a tool's. error_class::task where an x-mcp-header stands that the specification forbids, which
/// makes clients drop the tool: empty or no token, twice, of no text, integer or boolean, or reached by anything but
/// `properties`.
[[nodiscard]] result<std::vector<mirrored_parameter>> find_mirrored(const json& schema);

/// Of a tools/call: every parameter that has a value has its header, no other has, and they agree. The failure is HTTP
/// status 400. A value that no client could put into a header (an object where a text belongs) may lack it: the schema
/// refuses that with words that a model can act on.
[[nodiscard]] std::optional<rpc_failure>
check_param_headers(const header& request, const std::vector<mirrored_parameter>& mirrored, const json& arguments);

} // namespace chalk::mcp
