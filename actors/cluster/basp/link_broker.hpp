/// CAF's own broker for other processes (BASP), over sockets that are handed to it: it opens no port, dials nowhere and
/// keeps no cache of who was where. All on CAF's network thread.
///
/// Owner: the actor system's middleman; there is one. When it dies, every link is gone.
#pragma once

#include "actors/cluster/basp/link_scribe.hpp"
#include "actors/cluster/link_orders.hpp"

#include <caf/io/basp_broker.hpp>

#include <map>
#include <set>
#include <string>

namespace chalk::actors {

class link_broker final : public caf::io::basp_broker, public link_watcher {
  public:
    explicit link_broker(caf::actor_config& cfg) : basp_broker(cfg) {}

    caf::behavior make_behavior() override;
    void on_exit() override;

    /// A handle of a peer's actor. Any thread. CAF's own, when it dies, takes out of the table whatever stands under
    /// its name, which by then may be the handle of the link that replaced it; and it believes in ways over third
    /// nodes.
    caf::strong_actor_ptr make_proxy(caf::node_id peer, caf::actor_id actor) override;
    void finalize_handshake(const caf::node_id& peer, caf::actor_id root, std::set<std::string>& interface) override;
    void learned_new_node_directly(const caf::node_id& peer, bool was_indirectly_before) override;
    // CAF would start an actor for each node, for ever, that lets it spawn actors here.
    void learned_new_node_indirectly(const caf::node_id&) override {}

    void handshake_came(link_number number, std::string_view payload) override;
    void link_ended(link_number number, const std::string& why) override;

  private:
    enum class standing { waiting, up };
    struct link {
        link_side side;
        std::string peer;
        caf::actor_addr owner;
        std::set<std::string> expected;
        standing state = standing::waiting;
        bool late = false;
        caf::node_id process{};
        caf::strong_actor_ptr root{};
    };

    void open(const open_link& order);
    void cut(link_number number, const std::string& why);
    void stands(std::map<link_number, link>::iterator which, const caf::node_id& process, caf::strong_actor_ptr root);

    std::map<link_number, link> links_;
};

} // namespace chalk::actors
