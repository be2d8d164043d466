#include "actors/cluster/link_system.hpp"

#include <string>
#include <vector>

namespace chalk::actors {

link_system_settings::link_system_settings(const system_options& options, const link_library& library)
    : actor_system_settings(options) {
    add_message_types<caf::id_block::chalk_cluster>();
    // Both sides have to name it: the messages of another chalk may have the same names and other fields.
    set("middleman.app-identifiers", std::vector<std::string>{"chalk-cluster/1"});
    // Nobody uses CAF's own connect and publish: their actor needs no thread.
    set("middleman.attach-utility-actors", true);
    module_factories.emplace_back([make = library.make_module](caf::actor_system& system) { return make(system); });
}

} // namespace chalk::actors
