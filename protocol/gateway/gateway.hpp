/// The model gateway of a node: one unix socket a run, behind which a harness or CLI agent finds its provider's own
/// HTTP API (docs/protocols/gateway.md). The gateway holds the keys; a run is known by the socket that it has, whatever
/// it says. It retries, keeps to what providers bear, counts tokens and dollars, and records and replays.
///
/// Owner: the gateway actor. When it dies the model calls under way fail, and nothing else; accounts outlive it, and a
/// new one binds the same paths again.
#pragma once

#include "protocol/gateway/account.hpp"
#include "protocol/gateway/concurrency.hpp"
#include "protocol/gateway/message_source.hpp"
#include "protocol/gateway/retry.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <memory>
#include <optional>

#include <sys/types.h>

namespace chalk::gateway {

struct gateway_settings {
    provider_settings providers;
    price_table prices;
    retry_settings retry;
    concurrency_settings concurrency;
    std::optional<std::filesystem::path> record; ///< at most one of these two
    std::optional<std::filesystem::path> replay; ///< no provider is asked
    milliseconds call_deadline{1'800'000};       ///< of one call, retries and waits included
    milliseconds idle_deadline{600'000};         ///< a provider's silence
};

/// Where a run's socket is and who may use it.
struct run_socket {
    std::filesystem::path path; ///< its folder exists; at most 107 bytes
    /// Whom the socket is given to. Absent: this process's own user.
    std::optional<std::pair<uid_t, gid_t>> owner;
    std::shared_ptr<account> payer;
    mode_t mode = 0600;
    std::shared_ptr<message_source> messages = nullptr; ///< of an external agent; null: none
};

class gateway {
  public:
    /// Loads libcurl unless it replays: 10 ms, once. error_class::config for the folders, error_class::model for
    /// libcurl.
    [[nodiscard]] static result<std::shared_ptr<gateway>> make(boost::asio::io_context& io,
                                                               const gateway_settings& settings);
    gateway() = default;
    gateway(const gateway&) = delete;
    gateway& operator=(const gateway&) = delete;
    /// Closes all sockets; calls under way end.
    virtual ~gateway() = default;

    /// Any thread. The socket takes connections when this returns. What lies at the path is replaced.
    /// error_class::model with path and cause.
    [[nodiscard]] virtual result<void> open(const run_socket& socket) = 0;
    /// Any thread. Ends the run's calls and removes the socket.
    virtual void close(const std::filesystem::path& path) = 0;
};

} // namespace chalk::gateway
