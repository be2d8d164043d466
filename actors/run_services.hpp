/// What every node actor of a process works with, whatever owns it: the pool, the places of local harnesses, the
/// transcript writer, the folder of the gateway's sockets.
///
/// Owner: run_tree and cluster_node, beside the actor system. Shut down by shut_down(), after their actors were told to
/// end and before the system ends.
#pragma once

#include "actors/local_harness.hpp"
#include "actors/node/interfaces.hpp"

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>

namespace chalk::actors {

struct own_services_settings {
    std::shared_ptr<runtime> sandboxes; ///< null when every run is --no-containerized
    std::filesystem::path python;
    std::filesystem::path file_tool;
    std::shared_ptr<watcher> watch;
};

class own_services {
  public:
    explicit own_services(std::size_t pool_threads);
    own_services(const own_services&) = delete;
    own_services& operator=(const own_services&) = delete;
    /// Removes the sockets' folder.
    ~own_services();

    [[nodiscard]] services_ptr make(boost::asio::io_context& io, caf::actor_system& system,
                                    own_services_settings settings);
    /// At most once: makes the folder of the sockets. Should that fail, they cannot be bound, and the runs say so.
    [[nodiscard]] gateway_site make_gateway_site(gateway::gateway_settings settings);
    [[nodiscard]] const std::shared_ptr<blocking_pool>& pool() const noexcept { return pool_; }
    /// What the pool does is done or dropped: its works send to actors, which end later.
    void shut_down();

  private:
    std::filesystem::path sockets_;
    std::shared_ptr<place_pool> places_ = std::make_shared<place_pool>();
    std::shared_ptr<blocking_pool> pool_;
};

} // namespace chalk::actors
