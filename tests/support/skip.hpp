/// Skips, counted: Catch2 2.x has none of its own.
#pragma once

#include <string>

namespace chalk::test {

/// Exit code by which ctest knows that everything in a run was skipped (SKIP_RETURN_CODE).
inline constexpr int all_skipped_exit_code = 77;

/// Records that the running test case is skipped, and why.
void note_skip(const std::string& reason);

} // namespace chalk::test
