/// How much of this machine each run may use, and how many runs that lets in at once. Pure but for look_at_machine.
/// docs/reference/cli.md has the reasons.
#pragma once

#include "actors/node/ledger.hpp"
#include "cli/run/options.hpp"
#include "runtimes/runtime.hpp"

#include <optional>

namespace chalk::cli {

/// What there is to share out.
struct machine {
    bytes memory;                     ///< RAM, or the limit of the cgroup that we are in
    bytes free_disk;                  ///< of the file system that transcripts and caches go to
    std::uint32_t processes = 32'768; ///< that may exist at once, chalk's cgroups considered
    std::uint32_t cpus = 1;
    std::uint32_t open_files = 1024;     ///< descriptors that this process may have
    std::optional<bytes> sandbox_memory; ///< CHALK_SANDBOX_MEMORY_BYTES
};

/// The folder itself, or the nearest one above it that is there: what is to be made is made on its disk. Empty: the
/// working directory.
[[nodiscard]] std::filesystem::path existing_part(std::filesystem::path path);

/// error_class::config when CHALK_SANDBOX_MEMORY_BYTES is no size.
[[nodiscard]] result<machine> look_at_machine(const std::filesystem::path& where_files_go);

/// Raises the soft limit of open files to the hard one; returns what holds now.
[[nodiscard]] std::uint32_t raise_open_files();

struct run_plan_limits {
    sandbox_limits sandbox;        ///< of one run
    actors::resources reservation; ///< of one run, in the ledger
    actors::resources capacity;    ///< of the ledger
    std::size_t at_once = 1;       ///< how many the ledger lets in
};

/// error_class::config when not even one run fits, or an override makes no sense.
[[nodiscard]] result<run_plan_limits> plan_limits(const machine& m, const run_options& options, bool noop_environment);

} // namespace chalk::cli
