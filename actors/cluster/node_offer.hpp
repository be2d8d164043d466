/// What a node says of itself when it joins: what it has to give, what it can run, what it holds already. Measured by
/// the node; the coordinator believes it, since a peer is trusted by certificate and name.
#pragma once

#include "actors/node/ledger.hpp"

#include <functional>
#include <set>
#include <string>

namespace chalk::actors {

struct node_offer {
    std::string version;                         ///< of its chalk
    resources capacity;                          ///< for runs
    std::set<std::string, std::less<>> runtimes; ///< whose probes were fine there
    std::set<std::string, std::less<>> labels;
    std::set<std::string, std::less<>> held; ///< sha256:<hex> of environments and images
};

} // namespace chalk::actors
