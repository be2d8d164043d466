/// What the namespaces runtime is made with.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/bundle/bundle.hpp"
#include "runtimes/image/cache.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace chalk {

struct namespaces_options {
    std::filesystem::path cache_folder; ///< empty: image::cache::default_folder()
    std::filesystem::path state_folder; ///< empty: /run/chalk for root, else $XDG_RUNTIME_DIR/chalk
    std::filesystem::path nest_program; ///< empty: chalk-nest beside the running executable
    /// chalk, when it is the harness: its role `nest` is the helper then, and harnesses are copies of that, which need
    /// not load and link anything. Empty: chalk-nest is the helper, and `harness` is executed.
    std::filesystem::path copied_program;
    std::optional<bundle::parts> bundle_parts; ///< nullopt: of the running executable
    /// What runs as the harness, and its environment.
    std::vector<std::string> harness = {"/chalk/chalk", "run", "--no-containerized", "--channel-fd", "3"};
    std::vector<std::string> harness_environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                                    "HOME=/root", "LANG=C.UTF-8"};
};

/// chalk-nest. error_class::harness: there is none where one would be.
[[nodiscard]] result<std::filesystem::path> nest_program_of(const namespaces_options& options);

/// The cache that a runtime with these options uses, for `chalk gc`.
[[nodiscard]] image::cache make_node_cache(const namespaces_options& options);

} // namespace chalk
