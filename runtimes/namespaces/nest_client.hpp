/// The host's side of the helper (nest/nest.hpp): starts it, and asks it for sandboxes. Owned by the runtime;
/// destroying it ends all sandboxes, waits for the helper and with it for its cleaning up.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "runtimes/namespaces/lease_page.hpp"
#include "runtimes/namespaces/orders.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include <sys/types.h>

namespace chalk::namespaces {

/// One packet from a sandbox's or the helper's socket; nullopt: the other side is gone. Blocks at most `deadline`, or
/// without one not at all (then an empty socket is no answer: `empty` is set).
struct received_report {
    std::optional<sandbox_report> report;
    bool empty = false;
};
[[nodiscard]] received_report receive_report(int socket, std::optional<std::chrono::milliseconds> deadline);

class nest_client {
  public:
    /// `program` takes the role `nest`: chalk, or chalk-nest. error_class::sandbox with what the helper says it lacks.
    [[nodiscard]] static result<std::unique_ptr<nest_client>> start(const std::filesystem::path& program,
                                                                    const nest_orders& orders, int seccomp_program,
                                                                    const lease_page& lease);
    nest_client(const nest_client&) = delete;
    nest_client& operator=(const nest_client&) = delete;
    ~nest_client();

    /// Makes a sandbox and waits until its file system stands. `descriptors` as sandbox_orders says, without the
    /// socket. The answer is our end of the sandbox's socket: closing or shutting it down ends the sandbox.
    /// Thread-safe.
    struct started {
        unique_fd socket;
        pid_t init = -1;        ///< its first process, as the host sees it
        int firewall_error = 0; ///< error number that the kernel had for `orders.firewall`; 0: it is in force
    };
    [[nodiscard]] result<started> make_sandbox(const sandbox_orders& orders, const std::vector<int>& descriptors);

    [[nodiscard]] pid_t pid() const noexcept { return pid_; }

  private:
    nest_client() = default;
    std::mutex sending_;
    unique_fd socket_;
    unique_fd pidfd_;
    pid_t pid_ = -1;
};

} // namespace chalk::namespaces
