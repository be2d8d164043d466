/// Who this machine is in its cluster: the files of --tls DIR, and whom it lets in. DIR is the cluster's own folder
/// (`chalk cluster cert`), or one with copies of ca.pem, revoked.pem, NAME.pem and NAME.key.
#pragma once

#include "protocol/cluster/allow_list.hpp"
#include "protocol/cluster/node_name.hpp"
#include "protocol/cluster/tls_identity.hpp"
#include "protocol/core/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli {

struct identity_options {
    std::filesystem::path folder;
    std::string name;               ///< empty: the one that the folder has a key of
    std::vector<std::string> allow; ///< names of peers; empty: whoever the authority has signed
};

struct peer_identity {
    cluster::node_name name;
    cluster::tls_identity tls;
    cluster::allow_list allowed;
};

/// Blocking. error_class::config names the file, and what is wrong with it: missing, another's certificate.
[[nodiscard]] result<peer_identity> read_identity(const identity_options& options);

} // namespace chalk::cli
