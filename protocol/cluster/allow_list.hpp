/// The names of peers that may come in, besides that their certificates are good. Said outright, one way or the other:
/// a list that somebody forgot to fill lets nobody in.
#pragma once

#include "protocol/cluster/node_name.hpp"

#include <set>
#include <utility>

namespace chalk::cluster {

class allow_list {
  public:
    /// Exactly these, capitals counted; of none: nobody.
    [[nodiscard]] static allow_list only(std::set<node_name> names) { return {std::move(names), false}; }
    /// Whoever has a certificate of our authority.
    [[nodiscard]] static allow_list everyone() { return {{}, true}; }

    [[nodiscard]] bool allows(const node_name& name) const { return everyone_ || names_.contains(name); }

  private:
    allow_list(std::set<node_name> names, bool everyone) : names_(std::move(names)), everyone_(everyone) {}

    std::set<node_name> names_;
    bool everyone_;
};

} // namespace chalk::cluster
