/// User and group ids: which of the host's a sandbox's are.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <optional>
#include <string>

namespace chalk::nest {

/// Gives the new user namespace of `pid` its ids, by ourselves (root) or through newuidmap and newgidmap. nullopt:
/// done.
[[nodiscard]] std::optional<std::string> map_ids(pid_t pid, const namespaces::nest_orders& orders);

/// As above through newuidmap and newgidmap, and besides our own user and group as number `id_count`.
[[nodiscard]] std::optional<std::string> map_ids_and_own(pid_t pid, const namespaces::nest_orders& orders);

/// A user namespace with the same ids that no process lives in: what idmapped mounts refer to. One serves all
/// sandboxes. Empty, with errno: this machine does not let us.
[[nodiscard]] unique_fd make_idmap_namespace(const namespaces::nest_orders& orders);

} // namespace chalk::nest
