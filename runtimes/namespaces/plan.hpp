/// Decides how a sandbox's file system is put together: from what a run asks for and what was staged to the list of
/// steps that chalk-nest performs. Pure: touches nothing.
#pragma once

#include "runtimes/namespaces/orders.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk::namespaces {

/// Folders of the host that a sandbox is made of.
struct places {
    std::filesystem::path environment_root;    ///< staged: goes over the root file system
    std::filesystem::path environment_workdir; ///< staged: goes under /workdir
    std::filesystem::path base;                ///< skeleton, or a whole root file system
    bool base_is_whole = false;                ///< then nothing of the host's own system is shown
    std::vector<std::string> system_folders;   ///< of the host, beside usr: "lib64", ...
    std::filesystem::path bundle;
    std::filesystem::path out;                 ///< empty: /out is an empty folder of the sandbox
    std::filesystem::path gateway;             ///< empty: none
    std::optional<std::filesystem::path> kept; ///< what is written goes here instead of a tmpfs (no size limit then)
};

struct plan_request {
    places from;
    sandbox_limits limits;
    std::vector<std::filesystem::path> mask;
    std::vector<read_only_mount> mounts; ///< folders
    bool idmapped = true;   ///< staged trees have owners from 0; otherwise their owners are already the range's
    bool privileged = true; ///< chalk-nest runs as root of the host
};

struct plan {
    std::vector<tree> trees;
    std::vector<step> steps;
};

/// The file systems' sizes follow `limits`: one tmpfs of student_disk holds /workdir, /tmp, /var/tmp and /dev/shm,
/// another of the rest holds everything else that is written.
[[nodiscard]] plan make_plan(const plan_request& request);

} // namespace chalk::namespaces
