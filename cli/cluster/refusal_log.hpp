/// Which refused connections a person hears of. A stranger may make thousands a second, so each reason and name is said
/// once in a while; those of which nobody need do anything are counted (in metrics) and not said. Pure.
///
/// Owner: who listens. On its thread.
#pragma once

#include "protocol/cluster/refusal.hpp"

#include <chrono>
#include <cstddef>
#include <map>
#include <optional>
#include <string>

namespace chalk::cli {

class refusal_log {
  public:
    using clock = std::chrono::steady_clock;

    static constexpr std::chrono::seconds said_again_after{60};
    static constexpr std::size_t most_kept = 256; ///< reasons and names; beyond it nothing new is said for a while

    /// What is to be said; nullopt: nothing.
    [[nodiscard]] std::optional<std::string> line(const cluster::refusal& why, clock::time_point now);

  private:
    std::map<std::string, clock::time_point> said_;
};

} // namespace chalk::cli
