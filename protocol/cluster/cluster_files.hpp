/// Reading and locking a cluster's folder: what cluster_folder.hpp's functions share.
#pragma once

#include "protocol/cluster/cluster_folder.hpp"
#include "protocol/cluster/revocation_list.hpp"
#include "protocol/core/unique_fd.hpp"

namespace chalk::cluster {

[[nodiscard]] std::filesystem::path index_file(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path lock_file(const std::filesystem::path& folder);
[[nodiscard]] std::filesystem::path nodes_folder(const std::filesystem::path& folder);

/// The rights that files have: a secret's, and everything else's.
inline constexpr mode_t secret_mode = 0600;
inline constexpr mode_t public_mode = 0644;

/// Held until the descriptor is closed, by the kernel's hand if need be. Waits up to folder_lock_wait.
[[nodiscard]] result<unique_fd> lock_cluster(const std::filesystem::path& folder);

/// What the folder says, each file checked against the authority. Messages name the file.
struct cluster_state {
    certificate_owner authority;
    std::vector<issued_certificate> issued;
    revocations revoked;
};
[[nodiscard]] result<cluster_state> read_cluster(const std::filesystem::path& folder);

/// error_class::config: no key, or not the certificate's.
[[nodiscard]] result<authority> read_authority(const std::filesystem::path& folder);

} // namespace chalk::cluster
