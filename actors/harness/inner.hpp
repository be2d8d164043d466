/// The main of a harness inside its sandbox: one process, one run (docs/protocols/host-channel.md). It hardens itself,
/// takes the Start message, runs, and ends when the final event is out or the host is gone.
#pragma once

#include "actors/harness/interfaces.hpp"
#include "runtimes/confinement/own_groups.hpp"

#include <memory>

namespace chalk::actors {

struct inner_options {
    harness_places places;
    std::string file_tool;
    /// Made by this process, where the sandbox lets it; used when the host has none for the student. Null: none.
    std::shared_ptr<const confinement::own_groups> own_groups;
    /// Changes this process and its mount points (hardening.hpp): inside a sandbox only.
    bool harden = true;
};

/// The places of protocol/core/sandbox_layout.hpp. Returns the exit code: 0 when the host got the run's final event,
/// whatever it says; 1 otherwise. Takes over the descriptor.
[[nodiscard]] int run_inner_harness(int channel_fd);
[[nodiscard]] int run_inner_harness(int channel_fd, inner_options options);

} // namespace chalk::actors
