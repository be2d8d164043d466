/// What chalk starts itself as: the helper that makes sandboxes, and the harness inside one. Not for users, so without
/// CLI11, whose set-up a harness need not pay for.
#pragma once

#include <optional>

namespace chalk::cli {

/// nullopt: the arguments are a user's. Else the exit code.
[[nodiscard]] std::optional<int> play_inner_role(int argc, char** argv);

} // namespace chalk::cli
