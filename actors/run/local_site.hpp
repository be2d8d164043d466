/// A run's harness as an actor of this process: --no-containerized, and the tests of the tree.
#pragma once

#include "actors/run/sandbox_site.hpp"

#include <functional>

namespace chalk::actors {

/// One run's harness in this process, with the private folders that it works in. Its destructor removes them.
class local_harness {
  public:
    local_harness() = default;
    local_harness(const local_harness&) = delete;
    local_harness& operator=(const local_harness&) = delete;
    virtual ~local_harness() = default;

    /// Before spawn: the run's socket to its models.
    virtual void use_model_socket(const std::filesystem::path&) {}
    [[nodiscard]] virtual harness_actor spawn(caf::local_actor* owner, event_sink sink) = 0;
    /// Is there anything on disk to remove? If not, remove() need not go to the pool.
    [[nodiscard]] virtual bool has_folders() const noexcept = 0;
    /// Blocking. Where files were kept, if they were. `ended_in_order`: the harness ended by itself, and saw everything
    /// of its run end.
    [[nodiscard]] virtual result<std::optional<std::filesystem::path>> remove(bool ended_in_order) = 0;
};

/// Blocking: makes the folders of one run.
using local_harness_factory = std::function<result<std::shared_ptr<local_harness>>(const run_order&)>;

/// `self` is the owning run actor: it spawns and monitors the harness.
[[nodiscard]] std::unique_ptr<harness_site> make_local_site(const site_services& services,
                                                            const local_harness_factory& factory, order_ptr order,
                                                            caf::local_actor* self, const run_actor& owner,
                                                            std::filesystem::path model_socket);

} // namespace chalk::actors
