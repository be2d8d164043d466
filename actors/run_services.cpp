#include "actors/run_services.hpp"

#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/owner.hpp"

#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace chalk::actors {

own_services::own_services(std::size_t pool_threads) : pool_(make_blocking_pool(pool_threads)) {}

own_services::~own_services() {
    if (!sockets_.empty()) {
        std::error_code ignored; // the next chalk removes what is left
        std::filesystem::remove_all(sockets_, ignored);
    }
}

services_ptr own_services::make(boost::asio::io_context& io, caf::actor_system& system,
                                own_services_settings settings) {
    auto services = std::make_shared<run_services>();
    services->site = {std::move(settings.sandboxes), pool_, &io};
    services->local_harness = make_local_harness_factory(io, places_, settings.python, settings.file_tool);
    services->transcripts = spawn_transcript_writer(system, pool_);
    services->watch = std::move(settings.watch);
    return services;
}

gateway_site own_services::make_gateway_site(gateway::gateway_settings settings) {
    // Named as the runtimes' own folders are, so that what is left of a killed chalk is found and removed.
    sockets_ = namespaces::default_state_folder() / namespaces::make_owner_name();
    std::error_code ignored;
    std::filesystem::create_directories(sockets_.parent_path(), ignored);
    ::mkdir(sockets_.c_str(), 0700);
    return {std::move(settings), sockets_, spawn_gateway};
}

void own_services::shut_down() {
    pool_->shut_down();
    places_->close();
}

} // namespace chalk::actors
