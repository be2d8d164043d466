/// Who may be a peer: what is asked of a certificate that somebody presents, on either side of TLS. Owned by the
/// credentials of a front or dialer; immutable, so that a reload makes another and a thread needs no lock.
///
/// The rules: signed by the cluster's authority itself, in its time, for this use, not revoked, no authority; its name
/// is its one subject alternative name of the kind DNS (the common name proves nothing), and the allow list has it.
#pragma once

#include "protocol/cluster/allow_list.hpp"
#include "protocol/cluster/openssl_objects.hpp"
#include "protocol/cluster/refusal.hpp"
#include "protocol/core/result.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace chalk::cluster {

/// `message` is for the one who runs this side; the peer is told nothing.
struct peer_refusal {
    refusal_reason reason = refusal_reason::bad_certificate;
    std::string message;
    std::optional<node_name> name{}; ///< for `not_allowed`

    friend bool operator==(const peer_refusal&, const peer_refusal&) = default;
};

[[noreturn]] void throw_exception_from_error(const peer_refusal& why, const boost::source_location&);
template<class T>
using peer_result = boost::system::result<T, peer_refusal>;

/// Which side of TLS somebody is.
enum class tls_role : std::uint8_t { accepts, connects };

/// A peer whose certificate was found good, with that certificate, so that a reload can look at it again.
struct known_peer {
    node_name name;
    certificate_owner certificate;
};

class peer_check {
  public:
    /// PEM texts of the authority's certificate and its CRL, which must be there even if nobody is revoked.
    /// error_class::config.
    [[nodiscard]] static result<peer_check> make(std::string_view authority_pem, std::string_view revoked_pem,
                                                 allow_list allowed);

    /// For a TLS context (SSL_CTX_set1_cert_store): chain and revocation as judge() expects them. Owned by this; the
    /// context takes a reference of its own.
    [[nodiscard]] X509_STORE* store() const noexcept { return store_.get(); }

    /// After a handshake: `verified` is SSL_get_verify_result's, `certificate` what the peer showed, which may be null.
    /// Looks the revocation up itself too, for a context that was not told to.
    [[nodiscard]] peer_result<node_name> judge(long verified, X509* certificate) const;

    /// Without a handshake: chain and all. For a peer that is there already when the lists were reloaded, too.
    [[nodiscard]] peer_result<node_name> verify(X509& certificate, tls_role shown_by) const;

    /// The same without the allow list: for our own certificate, as peers will see it.
    [[nodiscard]] peer_result<node_name> identify(X509& certificate, tls_role shown_by) const;

  private:
    peer_check(certificate_owner authority, store_owner store, crl_owner revoked, allow_list allowed)
        : authority_(std::move(authority)), store_(std::move(store)), revoked_(std::move(revoked)),
          allowed_(std::move(allowed)) {}
    [[nodiscard]] peer_result<node_name> named(long verified, X509* certificate) const;
    [[nodiscard]] peer_result<node_name> if_allowed(peer_result<node_name> name) const;

    certificate_owner authority_;
    store_owner store_;
    crl_owner revoked_;
    allow_list allowed_;
};

} // namespace chalk::cluster
