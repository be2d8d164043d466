/// The sandbox's first process between clone and the exec of init: it enters its cgroups, builds the file system, sets
/// up the network's loopback and the student's firewall, forks the harness where that is a copy of the helper, and
/// becomes init. It is a copy of the helper, so it must not live longer than that.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/nest/copy.hpp"
#include "runtimes/namespaces/nest/lease_view.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <vector>

namespace chalk::nest {

struct first_process {
    const namespaces::nest_orders& owner;
    const namespaces::sandbox_orders& orders;
    int socket;            ///< the sandbox's, our end
    int seccomp;           ///< the seccomp program
    int program;           ///< chalk-nest, to become init
    int go;                ///< readable once the user ids are mapped
    int lease_page;        ///< what `lease` shows, for an init that is executed
    lease_view lease;      ///< in the helper's memory, and so in a copy's
    harness_entry harness; ///< what a copied harness does; null: it is executed
    std::vector<int> inherited;
    std::vector<int> joined;
    std::vector<unique_fd> trees;

    [[nodiscard]] bool copies() const noexcept { return orders.copy && harness != nullptr; }
};

[[noreturn]] void run(first_process what);

} // namespace chalk::nest
