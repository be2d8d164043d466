/// The certificate that a peer showed: its name, and what is wrong with it. Kept as long as its connection, so that a
/// reload can look at it again.
#pragma once

#include "protocol/cluster/refusal.hpp"
#include "protocol/cluster/tls_owners.hpp"

#include <optional>
#include <string>

namespace chalk::cluster {

/// Which side of TLS somebody is.
enum class tls_role : std::uint8_t { accepts, connects };

struct certificate_problem {
    refusal_reason reason = refusal_reason::bad_certificate;
    std::string text; ///< for a person: "certificate revoked"
};

/// What X509_verify_cert's code says. Nothing for X509_V_OK.
[[nodiscard]] std::optional<certificate_problem> problem_of(long verify_code);

class shown_certificate {
  public:
    /// Of a session whose handshake is done. Nothing without a certificate.
    [[nodiscard]] static std::optional<shown_certificate> of(SSL& session);

    /// Its one subject alternative name of the kind DNS: letters, digits, `.`, `_`, `-`, first a letter or digit, at
    /// most 253. Empty where it has none, several or an odd one: which of several is the peer would be anybody's guess.
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

    /// Chain, times, revocation and use, by the authorities and lists of `store`; `shown_by` is the peer's side.
    [[nodiscard]] std::optional<certificate_problem> check(X509_STORE& store, tls_role shown_by) const;

  private:
    shown_certificate(shown_certificate_owner leaf, shown_chain_owner chain);

    shown_certificate_owner leaf_;
    shown_chain_owner chain_;
    std::string name_;
};

/// The same for a certificate at hand; `purpose` is X509_PURPOSE_..., `chain` may be null.
[[nodiscard]] std::optional<certificate_problem> check_certificate(X509_STORE& store, X509& leaf,
                                                                   STACK_OF(X509) * chain, int purpose);

} // namespace chalk::cluster
