#include "actors/harness/blocking_helpers.hpp"

#include "actors/harness/artifacts.hpp"
#include "config/defaults.hpp"

namespace chalk::actors {

// What they work on goes as an argument: CAF 0.17 dereferences a null pointer for a function actor without any.

caf::actor spawn_firewall_check(caf::local_actor* self, const harness_core& done, const firewall_options& what) {
    return self->spawn<caf::detached + caf::linked>(
        [done](caf::event_based_actor* me, const std::shared_ptr<const firewall_options>& options) {
            me->send(done, firewall_checked{check_firewall(*options)});
        },
        std::make_shared<const firewall_options>(what));
}

caf::actor spawn_artifact_copier(caf::local_actor* self, const harness_core& done, const harness_places& places,
                                 const lifecycle::save_artifacts& what) {
    return self->spawn<caf::detached + caf::linked>(
        [done, places](caf::event_based_actor* me, const lifecycle::save_artifacts& wanted) {
            const auto report = copy_artifacts(places.workdir, places.out, wanted.index, wanted.patterns,
                                               {config::defaults::artifact_size, config::defaults::artifacts_per_step});
            for (const auto& saved : report.saved) {
                me->send(done, agent_did{saved});
            }
            for (const auto& complaint : report.complaints) {
                me->send(done, agent_did{log_line{log_level::warning, "chalk", complaint}});
            }
            me->send(done, artifacts_copied{});
        },
        what);
}

} // namespace chalk::actors
