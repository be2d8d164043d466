/// A real model, asked over HTTP in its provider's own API (dialect/dialect.hpp) through the node's gateway, which adds
/// the key, retries and counts. docs/protocols/model-apis.md has what goes over the wire.
///
/// A model's name is PROVIDER/NAME:
///   openai/NAME             chat completions, or the Responses API with model_args {"api": "responses"}
///   openai_responses/NAME   the Responses API
///   anthropic/NAME          messages
///   gemini/NAME             models/NAME:streamGenerateContent
///   openai_compatible/NAME  chat completions of any other server (vLLM, litellm); "api" as with openai/
///
/// The gateway reads the whole name in the header X-Chalk-Model; the body's "model", or the path, has NAME.
#pragma once

#include "protocol/model/model.hpp"

namespace chalk::model {

/// error_class::config, naming the key that is wrong.
[[nodiscard]] result<void> check_api_model(const model_settings& settings);

[[nodiscard]] result<std::unique_ptr<model>> make_api_model(boost::asio::io_context& io,
                                                            const model_settings& settings);

} // namespace chalk::model
