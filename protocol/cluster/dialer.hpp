/// Connects to the front of another node (docs/protocols/cluster-transport.md). The other side's certificate is checked
/// as the front checks ours. One try a call: when to try again is its user's decision.
///
/// Owner: the node. Its death ends what is under way and cuts every connection that it made.
#pragma once

#include "protocol/cluster/allow_list.hpp"
#include "protocol/cluster/peer_connection.hpp"
#include "protocol/cluster/refusal.hpp"
#include "protocol/cluster/tls_identity.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>

namespace chalk::cluster {

struct dial_target {
    std::string host; ///< a name or an address
    std::uint16_t port = 0;
    channel wanted = channel::control;
    std::optional<node_name> expected_name{}; ///< none: whoever is on the allow list
    milliseconds deadline{10'000};            ///< for all of it, from the name's resolution to being let in
    seconds vanished_after{30};               ///< as in front_settings
};

enum class dial_error : std::uint8_t {
    unresolved,      ///< no such host name
    refused,         ///< nobody listens there
    unreachable,     ///< no way to it; or we are out of descriptors
    too_slow,        ///< the deadline passed
    closed,          ///< it hung up before we were in: its limits, perhaps
    not_a_peer,      ///< what answers speaks no TLS 1.3, or not our channels
    bad_certificate, ///< its certificate; `reason` says what of it
    wrong_name,      ///< a good certificate, of another than we expect or allow
    not_admitted,    ///< it will not have us: our certificate, our name, or it is full
    stopped,         ///< the dialer's end
};

struct dial_failure {
    dial_error code = dial_error::stopped;
    std::string message;                    ///< names host, port and cause
    std::optional<refusal_reason> reason{}; ///< where we refused its certificate or name
};
[[noreturn]] void throw_exception_from_error(const dial_failure& why, const boost::source_location&);
using dialed = boost::system::result<peer_connection, dial_failure>;

class dialer {
  public:
    /// error_class::config when the identity cannot be used. `io` must outlive it.
    [[nodiscard]] static result<std::shared_ptr<dialer>> make(boost::asio::io_context& io, const tls_identity& identity,
                                                              allow_list allowed);
    dialer() = default;
    dialer(const dialer&) = delete;
    dialer& operator=(const dialer&) = delete;
    virtual ~dialer() = default;

    /// Any thread. `done` is called once, on the io thread, and may not block.
    virtual void dial(dial_target target, std::function<void(dialed)> done) = 0;

    /// As front::reload. What is being dialled is held against the new ones.
    [[nodiscard]] virtual result<void> reload(const tls_identity& identity, allow_list allowed) = 0;
};

} // namespace chalk::cluster
