/// The names of local runs' folders, which say whose they are, so that what a killed chalk left is told from what a
/// living one uses. No CAF: commands use it too.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <string>
#include <vector>

namespace chalk::actors {

/// For mkdtemp: "<temporary folder>/chalk-run-<owner>-XXXXXX".
[[nodiscard]] std::string local_folder_template();

/// A folder of a process that is gone.
struct left_place {
    std::filesystem::path folder;
    std::string owner;
};

/// Removes the folders that local runs of processes that are gone left behind, or with `dry_run` only says which.
/// error_class::sandbox: one would not go, and why.
[[nodiscard]] result<std::vector<left_place>> remove_left_places(bool dry_run);

} // namespace chalk::actors
