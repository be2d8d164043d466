/// Lets requests through to each model as `concurrency` says, and wakes when a provider's pause is over.
/// Owner: the gateway. Belongs to the io thread.
#pragma once

#include "protocol/gateway/concurrency.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

namespace chalk::gateway {

class turnstile : public std::enable_shared_from_this<turnstile> {
  public:
    turnstile(boost::asio::io_context& io, const concurrency_settings& settings) : io_(io), settings_(settings) {}

    /// `go` runs later, when it is this request's turn; then `ended` must be called once. Returns its number.
    [[nodiscard]] std::uint64_t ask(const std::string& model, std::function<void()> go);
    /// It waits no longer: `go` does not run. False: it ran, or was about to.
    bool forget(const std::string& model, std::uint64_t who);
    void ended(const std::string& model, concurrency::how how, concurrency::time_point began,
               std::optional<milliseconds> wait = std::nullopt);

    /// For logs and tests; null for a model that nobody asked.
    [[nodiscard]] const concurrency* find(const std::string& model) const;

  private:
    struct gate {
        gate(boost::asio::io_context& io, const concurrency_settings& settings) : queue(settings), timer(io) {}
        concurrency queue;
        boost::asio::steady_timer timer;
        std::unordered_map<std::uint64_t, std::function<void()>> waiting;
    };
    gate& at(const std::string& model);
    void let_in(const std::string& model);
    void later(const std::string& model);

    boost::asio::io_context& io_;
    concurrency_settings settings_;
    std::uint64_t last_ = 0;
    std::map<std::string, gate> gates_;
};

} // namespace chalk::gateway
