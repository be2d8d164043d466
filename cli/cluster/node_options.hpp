/// What the user typed after `chalk node`.
#pragma once

#include "cli/cluster/peer_identity.hpp"
#include "cli/run/options.hpp"

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace chalk::cli {

struct node_options {
    std::string join;   ///< HOST:PORT of a coordinator
    std::string listen; ///< ADDR:PORT where coordinators come
    identity_options identity;
    std::filesystem::path folder;    ///< what it keeps
    std::vector<std::string> labels; ///< as typed: KEY=VALUE
    std::uint64_t cache_gib = 20;    ///< of environments
    run_options how;                 ///< runtime, max_concurrent, overcommit, prices, proxy, no_proxy
};

} // namespace chalk::cli
