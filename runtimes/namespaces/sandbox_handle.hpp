/// One sandbox of the namespaces runtime, as its run actor holds it.
#pragma once

#include "protocol/host_channel/messages.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/namespaces/out_folder.hpp"
#include "runtimes/namespaces/sandbox_cgroup.hpp"
#include "runtimes/runtime.hpp"

#include <memory>
#include <optional>
#include <vector>

namespace chalk::namespaces {

/// What a sandbox was made with and gives back when it is removed.
struct sandbox_parts {
    unique_fd socket; ///< towards its first process and chalk-nest; closing it ends the sandbox
    pid_t init = -1;
    unique_fd host_channel; ///< our end
    unique_fd stderr_pipe;  ///< our end
    host_channel::student_description student;
    std::optional<sandbox_cgroup> cgroup;
    std::optional<out_folder> out;
    std::optional<std::filesystem::path> kept;
    std::function<result<void>(const std::filesystem::path&)>
        take_kept;                                                    ///< makes what was kept the user's; may be empty
    std::vector<std::shared_ptr<const image::cache_entry>> stands_on; ///< kept from being collected
};

/// Reads the harness's stderr on `io` from now on.
[[nodiscard]] std::unique_ptr<sandbox> make_sandbox_handle(boost::asio::io_context& io, sandbox_parts parts);

} // namespace chalk::namespaces
