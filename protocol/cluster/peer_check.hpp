/// Who may be a peer: what is asked of a certificate that somebody presents, on either side of TLS. Whoever ends TLS
/// owns one; it is immutable, so that a reload makes another and a thread needs no lock.
///
/// The rules: signed by the cluster's authority, in its time, for this use, not revoked, no authority itself; its name
/// is its one subject alternative name of the kind DNS (the common name proves nothing), and the allow list has it.
#pragma once

#include "protocol/cluster/node_name.hpp"
#include "protocol/cluster/openssl_objects.hpp"
#include "protocol/core/result.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace chalk::cluster {

enum class peer_fault {
    no_certificate,
    foreign,       ///< another authority's, or nobody's
    not_yet_valid, ///< or a clock is wrong
    expired,       ///< the peer's or the authority's
    revoked,
    stale_list,     ///< our own list of revoked certificates cannot be used
    authority,      ///< an authority's certificate in a node's place
    wrong_use,      ///< not for this side of TLS
    no_single_name, ///< none, several, or one that no node can have
    not_allowed,    ///< a good certificate whose name the allow list lacks
    malformed,      ///< anything else; the message says what
};

[[nodiscard]] std::string_view to_string(peer_fault fault) noexcept;

/// `message` is for the one who runs this side; the peer is told nothing.
struct peer_refusal {
    peer_fault fault = peer_fault::malformed;
    std::string message;

    friend bool operator==(const peer_refusal&, const peer_refusal&) = default;
};

[[noreturn]] void throw_exception_from_error(const peer_refusal& why, const boost::source_location&);
template<class T>
using peer_result = boost::system::result<T, peer_refusal>;

/// Which side of TLS the peer is.
enum class peer_side { connects, listens };

class peer_check {
  public:
    /// PEM texts of the authority's certificate and its CRL. `allowed` empty: every name that the authority signed.
    /// error_class::config.
    [[nodiscard]] static result<peer_check> make(std::string_view authority_pem, std::string_view revoked_pem,
                                                 std::vector<node_name> allowed);

    /// For a TLS context (SSL_CTX_set1_cert_store): chain and revocation as judge() expects them. Owned by this; the
    /// context takes a reference of its own.
    [[nodiscard]] X509_STORE* store() const noexcept { return store_.get(); }

    /// After a handshake: `verified` is SSL_get_verify_result's, `certificate` SSL_get0_peer_certificate's, which may
    /// be null. Looks the revocation up itself too, for a context that was not told to.
    [[nodiscard]] peer_result<node_name> judge(long verified, X509* certificate) const;

    /// Without a handshake: chain and all. For a peer that is there already when the lists were reloaded, too.
    [[nodiscard]] peer_result<node_name> verify(X509& certificate, peer_side side) const;

  private:
    peer_check(certificate_owner authority, store_owner store, crl_owner revoked, std::vector<node_name> allowed)
        : authority_(std::move(authority)), store_(std::move(store)), revoked_(std::move(revoked)),
          allowed_(std::move(allowed)) {}

    certificate_owner authority_;
    store_owner store_;
    crl_owner revoked_;
    std::vector<node_name> allowed_; ///< sorted
};

} // namespace chalk::cluster
