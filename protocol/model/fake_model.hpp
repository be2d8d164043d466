/// A model that plays a script: for tests, examples and benchmarks. One list of turns a step; a turn is
/// `{"text", "reasoning", "tool_calls": [{"name", "arguments"}], "stop_reason"}`, every key optional
/// (docs/howto/fake-model.md). It checks what it is asked: past its script it is an error, never silence.
#pragma once

#include "protocol/model/model.hpp"

namespace chalk::model {

using script = std::vector<std::vector<turn>>;

/// error_class::config with the JSON path of what is wrong.
[[nodiscard]] result<script> parse_script(const json& value);

/// Answers each request after `latency`. Tokens are estimated as a quarter of the characters.
[[nodiscard]] result<std::unique_ptr<model>> make_fake_model(boost::asio::io_context& io, const json& value,
                                                             milliseconds latency);

} // namespace chalk::model
