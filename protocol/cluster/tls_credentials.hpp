/// An identity as OpenSSL has it, ready for connections. Immutable: a reload makes another, and connections keep the
/// one that they began with.
#pragma once

#include "protocol/cluster/shown_certificate.hpp"
#include "protocol/cluster/tls_identity.hpp"
#include "protocol/core/result.hpp"

#include <memory>

namespace chalk::cluster {

class tls_credentials {
  public:
    /// error_class::config, and which of the texts is at fault: not PEM, a key of another certificate, or our own
    /// certificate would be refused by a peer with the same authority and list (expired, revoked).
    [[nodiscard]] static result<std::shared_ptr<const tls_credentials>> read(const tls_identity& identity);

    /// A session of TLS 1.3 alone, in which both sides show certificates, without resumption: a peer that was revoked
    /// would come back by its ticket, unchecked. Null for want of memory alone.
    [[nodiscard]] tls_session_owner session(tls_role ours) const;

    /// Of a peer, by our authorities and lists of today.
    [[nodiscard]] std::optional<certificate_problem> check(const shown_certificate& peer, tls_role shown_by) const;

  private:
    explicit tls_credentials(tls_context_owner context) : context_(std::move(context)) {}

    tls_context_owner context_;
};

} // namespace chalk::cluster
