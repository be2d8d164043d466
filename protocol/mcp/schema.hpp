/// A tool's input schema, compiled once. Immutable and shared; any thread.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/mcp/server.hpp"

#include <memory>

namespace chalk::mcp {

class compiled_schema {
  public:
    /// error_class::task when `schema` is not a schema of an object.
    [[nodiscard]] static result<std::shared_ptr<const compiled_schema>> compile(const tool_spec& tool);
    compiled_schema() = default;
    compiled_schema(const compiled_schema&) = delete;
    compiled_schema& operator=(const compiled_schema&) = delete;
    virtual ~compiled_schema() = default;

    /// error_class::model with a message for the model that made the call.
    [[nodiscard]] virtual result<void> check(const json& arguments) const = 0;
};

} // namespace chalk::mcp
