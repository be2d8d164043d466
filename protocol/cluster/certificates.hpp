/// The certificates of a cluster, as PEM text (RFC 5280): one authority, and what it signs for nodes. EC P-256 and
/// SHA-256. No files here: cluster_folder.hpp.
#pragma once

#include "protocol/cluster/node_name.hpp"
#include "protocol/cluster/openssl_objects.hpp"
#include "protocol/cluster/serial_number.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::cluster {

/// From and until, in whole seconds.
struct validity {
    wall_time from;
    wall_time until;
};

/// From an hour ago, for machines whose clocks lag, until `length` from now.
[[nodiscard]] validity valid_for(std::chrono::days length, wall_time now);

/// PEM text of a certificate and of its private key (PKCS #8, not encrypted: a secret).
struct certified_key {
    std::string certificate;
    std::string key;
};

/// A cluster's authority with its key: what may sign. Immutable; owned by whoever loaded it.
class authority {
  public:
    /// A new one, with a new key. error_class::harness.
    [[nodiscard]] static result<authority> create(const node_name& cluster, const validity& valid);
    /// error_class::config: not PEM, encrypted, no authority's, or the key of another.
    [[nodiscard]] static result<authority> load(const certified_key& pem);

    /// PEM.
    [[nodiscard]] result<certified_key> pem() const;
    /// A node's certificate with a new key, for both sides of TLS. error_class::config when it would outlive the
    /// authority.
    [[nodiscard]] result<certified_key> issue(const node_name& name, const serial_number& serial,
                                              const validity& valid) const;

    [[nodiscard]] X509& certificate() const noexcept { return *certificate_; }
    [[nodiscard]] EVP_PKEY& key() const noexcept { return *key_; }

  private:
    authority(certificate_owner certificate, key_owner key)
        : certificate_(std::move(certificate)), key_(std::move(key)) {}
    certificate_owner certificate_;
    key_owner key_;
};

/// Exactly one certificate. `whose` begins the message: error_class::config.
[[nodiscard]] result<certificate_owner> parse_certificate(std::string_view pem, std::string_view whose);
/// The key of `certificate`. `whose` as above.
[[nodiscard]] result<key_owner> parse_key(std::string_view pem, const X509& certificate, std::string_view whose);

[[nodiscard]] result<validity> validity_of(const X509& certificate);
/// Its subject's common name: what an authority's cluster is called. Of a node it proves nothing.
[[nodiscard]] std::string common_name(const X509& certificate);
/// Its subject alternative names of the kind DNS, as they are: of any bytes.
[[nodiscard]] std::vector<std::string> dns_names(const X509& certificate);

} // namespace chalk::cluster
