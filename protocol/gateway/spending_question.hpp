/// Asks a run's gateway what the run has spent (docs/protocols/gateway.md): turns, tokens, dollars, as the gateway
/// counts them, whoever asked the model.
///
/// Owner: who keeps a run's limits, in the harness. A connection of its own, kept between questions.
#pragma once

#include "protocol/gateway/account.hpp"
#include "protocol/net/http_client.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>

namespace chalk::gateway {

/// The path of the question.
inline constexpr std::string_view spent_target = "/chalk/spent";

class spending_question {
  public:
    /// `io` outlives it.
    spending_question(boost::asio::io_context& io, net::http_address gateway);
    spending_question(const spending_question&) = delete;
    spending_question& operator=(const spending_question&) = delete;
    /// Drops an open question: its `done` does not run any more.
    ~spending_question();

    /// Any thread; one at a time. `done` runs on the io thread, once, within 30 s. error_class::model: it did not say.
    void ask(std::function<void(result<spending>)> done);

  private:
    boost::asio::io_context& io_;
    std::shared_ptr<net::http_client> client_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
};

} // namespace chalk::gateway
