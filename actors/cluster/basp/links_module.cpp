#include "actors/cluster/basp/link_broker.hpp"

#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>

#include <array>
#include <cstdint>
#include <random>

#include <unistd.h>

namespace chalk::actors {

namespace {

/// CAF names a process by a hash of its machine and its pid. Two containers may agree in both, and a node that is
/// started again in one has the pid of its forerunner: its handles would be taken for those of the dead.
caf::node_id random_node() {
    std::random_device source;
    caf::node_id::default_data::host_id_type host{};
    for (auto& one : host) {
        one = static_cast<std::uint8_t>(source());
    }
    return caf::make_node_id(static_cast<std::uint32_t>(::getpid()), host);
}

class link_middleman final : public caf::io::middleman {
  public:
    explicit link_middleman(caf::actor_system& system) : middleman(system), loop_(&system) {}

    void init(caf::actor_system_config& settings) override {
        middleman::init(settings);
        // CAF has no setting for it, and nobody has read it yet: actors start after the modules.
        const_cast<caf::node_id&>(system().node()) = random_node();
    }
    void start() override {
        // CAF looks its broker up by this name, and makes its own where there is none.
        named_broker<link_broker>(broker_name);
        middleman::start();
    }
    caf::io::network::multiplexer& backend() override { return loop_; }

    static constexpr caf::atom_value broker_name = caf::atom("BASP");

  private:
    caf::io::network::default_multiplexer loop_;
};

} // namespace

} // namespace chalk::actors

// What link_library.hpp looks for; the types are its.
extern "C" {
caf::actor_system::module* chalk_links_module(caf::actor_system& system) {
    return new chalk::actors::link_middleman(system); // the system's from here on, as CAF has it
}
void chalk_links_broker(caf::actor_system& system, caf::actor& found) {
    using chalk::actors::link_middleman;
    found = system.middleman().named_broker<chalk::actors::link_broker>(link_middleman::broker_name);
}
}
