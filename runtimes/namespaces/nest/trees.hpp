/// Mounts that are cut from the host's tree for one sandbox to attach.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <optional>
#include <string>
#include <vector>

namespace chalk::nest {

/// `idmap_space` may be -1: then a tree that insists on being idmapped fails. On failure says why.
[[nodiscard]] std::optional<std::string> detach(const namespaces::tree& what, int idmap_space, unique_fd& out);

/// Mounts a small /dev (null, zero, full, random, urandom, tty and the usual links) at `folder`, as root of the host
/// only, and returns what `detach` clones for trees with the flag `devices`. On failure says why.
[[nodiscard]] std::optional<std::string> make_devices(const std::string& folder);

} // namespace chalk::nest
