/// The list of a cluster's revoked certificates: a CRL (RFC 5280, section 5) that its authority signs, as PEM text.
#pragma once

#include "protocol/cluster/certificates.hpp"

#include <map>

namespace chalk::cluster {

/// Which serial numbers, and when.
using revocations = std::map<serial_number, wall_time>;

/// Valid from an hour before `now` to the authority's own end: a list that ended sooner would cut a whole cluster off
/// on the day that nobody thought of it. error_class::harness.
[[nodiscard]] result<std::string> write_revocation_list(const authority& by, const revocations& revoked, wall_time now);

/// error_class::config: not exactly one list in PEM, or not signed by `authority`.
[[nodiscard]] result<crl_owner> parse_revocation_list(std::string_view pem, X509& authority);
/// error_class::config when an entry is none of ours.
[[nodiscard]] result<revocations> revocations_of(X509_CRL& list);

} // namespace chalk::cluster
