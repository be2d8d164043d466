/// The external agent's mind: each turn is asked of the run's backend, over the gateway's socket, where the host passes
/// the request on (docs/protocols/backend.md, protocol/gateway/message_source.hpp). A connection that breaks, or a
/// gateway that was restarted, is asked again until the turn's deadline.
#pragma once

#include "protocol/model/model.hpp"

namespace chalk::model {

/// error_class::config: this run has no gateway.
[[nodiscard]] result<void> check_external_model(const model_settings& settings);

[[nodiscard]] result<std::unique_ptr<model>> make_external_model(boost::asio::io_context& io,
                                                                 const model_settings& settings);

} // namespace chalk::model
