/// The wire of an external agent, the harness's part of it (docs/protocols/backend.md): what is asked, and what a
/// Message says. Pure.
#pragma once

#include "protocol/model/model.hpp"

namespace chalk::model {

/// "<step>-<turn>": the same when the request is repeated.
[[nodiscard]] std::string external_request_id(const request& what);

/// {"request","step","turn","messages","tools"}.
[[nodiscard]] json external_request(const request& what);

/// {"type":"Message","request":...,"message":{"text","reasoning","tool_calls","stop_reason","usage"}}.
/// error_class::model with the place of what is wrong: a type, a key that is not known, an answer to another request.
/// A message with neither text nor a tool call is an empty turn, as a model's would be.
[[nodiscard]] result<turn> parse_external_message(std::string_view text, const request& asked);

} // namespace chalk::model
