/// Who a node is to its peers, and whom it believes: texts in PEM (RFC 7468), as they lie in the cluster's folder.
#pragma once

#include <string>

namespace chalk::cluster {

struct tls_identity {
    /// The certificate of the one authority that signed ours and every peer's.
    std::string ca_pem;
    /// The authority's revocation list. One that revokes nobody is a list as well, an empty text is none: a file that
    /// was cut short would let in whoever was revoked.
    std::string crl_pem;
    /// Our own certificate.
    std::string certificate_pem;
    /// Its key, not encrypted.
    std::string key_pem;
};

} // namespace chalk::cluster
