/// A run's harness in a sandbox: the runtime's blocking calls go to the pool, its events come over the host channel.
#pragma once

#include "actors/node/blocking_pool.hpp"
#include "actors/run/artifact_folders.hpp"
#include "actors/run/event_relay.hpp"
#include "actors/run/harness_site.hpp"

namespace chalk::actors {

/// What the sites of a node share. All of it outlives the actors.
struct site_services {
    std::shared_ptr<runtime> sandboxes; ///< null when every run is --no-containerized
    std::shared_ptr<blocking_pool> pool;
    boost::asio::io_context* io = nullptr;
    std::shared_ptr<artifact_folders> folders = std::make_shared<artifact_folders>();
};

/// `model_socket` is the host's path of the run's socket to its models, alone in its folder; empty: it has none.
[[nodiscard]] std::unique_ptr<harness_site> make_sandbox_site(const site_services& services, order_ptr order,
                                                              const run_actor& owner,
                                                              std::filesystem::path model_socket);

/// Pool side of every run's beginning: the folders of its transcript and artifacts exist, and an older transcript is
/// gone. error_class::config with the path and the system's reason.
[[nodiscard]] result<void> make_output_places(const run_order& order, artifact_folders& folders);

/// Pool side of every run's end: an empty artifacts folder is taken back, any other
/// is given to the owner of the folder that it lies in.
[[nodiscard]] result<void> hand_over_artifacts(const run_order& order, artifact_folders& folders, bool nobody_writes);

} // namespace chalk::actors
