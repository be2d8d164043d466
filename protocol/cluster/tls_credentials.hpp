/// An identity as OpenSSL has it, ready for connections, and who may be at their other end. Immutable: a reload makes
/// another, and connections keep the one that they began with.
#pragma once

#include "protocol/cluster/peer_check.hpp"
#include "protocol/cluster/tls_identity.hpp"
#include "protocol/core/result.hpp"

#include <memory>

namespace chalk::cluster {

class tls_credentials {
  public:
    /// error_class::config, and which of the texts is at fault: not PEM, a key of another certificate, or our own
    /// certificate would be refused by a peer with the same authority and list (expired, revoked).
    [[nodiscard]] static result<std::shared_ptr<const tls_credentials>> read(const tls_identity& identity,
                                                                             allow_list allowed);

    /// A session of TLS 1.3 alone, in which both sides show certificates, without resumption: a peer that was revoked
    /// would come back by its ticket, unchecked. A certificate that is refused in its handshake goes to `refused`,
    /// which must outlive the session. Null for want of memory alone.
    [[nodiscard]] tls_session_owner session(tls_role ours, certificate_owner& refused) const;

    [[nodiscard]] const peer_check& peers() const noexcept { return peers_; }

  private:
    tls_credentials(tls_context_owner context, peer_check peers)
        : context_(std::move(context)), peers_(std::move(peers)) {}

    tls_context_owner context_;
    peer_check peers_;
};

} // namespace chalk::cluster
