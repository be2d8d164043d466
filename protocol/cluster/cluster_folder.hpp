/// A cluster's folder on the machine of whoever runs the cluster:
///
///     ca.pem            the authority's certificate: every machine has a copy
///     ca.key            its key, a secret that never leaves
///     revoked.pem       the list of revoked certificates, always there: every machine has a copy
///     issued.jsonl      what was signed (certificate_index.hpp)
///     nodes/NAME.pem    a node's certificate
///     nodes/NAME.key    its key, a secret, for that node alone
///     lock              held while a command changes the folder
///
/// The folder has mode 0700, keys 0600. Every change is made whole or not at all; of an issue that is
/// killed a key without its certificate may stay, which the next one names.
/// All functions block. error_class::config is the user's to mend; error_class::harness is the system's doing.
#pragma once

#include "protocol/cluster/certificate_index.hpp"

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::cluster {

inline constexpr std::chrono::days default_authority_days{3652}; ///< ten years
inline constexpr std::chrono::days default_node_days{365};
/// For another command that changes the folder; it takes milliseconds, on a bad disk seconds.
inline constexpr seconds folder_lock_wait{20};

[[nodiscard]] std::filesystem::path authority_file(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path authority_key_file(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path revoked_file(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path certificate_file(const std::filesystem::path& folder, const node_name& node);
[[nodiscard]] std::filesystem::path key_file(const std::filesystem::path& folder, const node_name& node);

/// A new cluster in `folder`, which is not there yet or empty; its parents are made.
[[nodiscard]] result<void> create_cluster(const std::filesystem::path& folder, const node_name& cluster,
                                          std::chrono::days valid, wall_time now);

/// A certificate and key for `node`, whose files must not be there yet, unless what is there was revoked or has
/// expired. A name that differs from an earlier one in capitals alone is refused.
[[nodiscard]] result<issued_certificate> issue_certificate(const std::filesystem::path& folder, const node_name& node,
                                                           std::chrono::days valid, wall_time now);

/// Revokes every certificate of that name, whether its file is still there or not; gives back those that were not
/// revoked before. error_class::config when there are none.
[[nodiscard]] result<std::vector<issued_certificate>> revoke_certificates(const std::filesystem::path& folder,
                                                                          const node_name& node, wall_time now);

struct listed_certificate {
    issued_certificate issued;
    std::optional<wall_time> revoked;
};

struct cluster_listing {
    std::string cluster; ///< its name
    validity authority;
    std::vector<listed_certificate> certificates; ///< oldest first
};

/// Needs no lock and no key.
[[nodiscard]] result<cluster_listing> list_certificates(const std::filesystem::path& folder);

} // namespace chalk::cluster
