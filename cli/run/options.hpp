/// What the user typed after `chalk run`.
#pragma once

#include "protocol/core/units.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::cli {

struct run_options {
    std::string config;
    std::optional<std::string> runtime;
    std::size_t runs = 1;
    std::optional<std::string> task;
    std::optional<std::string> agent;
    std::optional<std::string> model;
    std::optional<std::string> out;
    std::optional<std::uint16_t> websocket_port;
    std::optional<bytes> memory;
    std::optional<bytes> disk;
    std::optional<std::size_t> max_concurrent;
    double overcommit = 1.0;
    std::optional<std::filesystem::path> rootfs;
    std::vector<std::string> mounts;             ///< as typed: SOURCE:TARGET:ro
    std::optional<std::string> proxy;            ///< base URL that all model calls go to
    bool no_proxy = false;                       ///< straight to the providers
    std::optional<std::filesystem::path> prices; ///< what models cost
    std::optional<std::filesystem::path> record; ///< folder for what models answer
    std::optional<std::filesystem::path> replay; ///< folder of what they answered
    bool no_ui = false;
    bool json = false;
    bool keep = false;
    bool no_containerized = false;
    bool prepare_only = false;
    bool dry_run = false;
};

} // namespace chalk::cli
