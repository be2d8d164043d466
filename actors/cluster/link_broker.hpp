/// CAF's own broker for other processes (BASP), over sockets that are handed to it: it opens no port, dials nowhere and
/// keeps no cache of who was where. All on CAF's network thread.
///
/// Owner: the actor system's middleman; there is one. When it dies, every link is gone.
#pragma once

#include "actors/cluster/link_events.hpp"
#include "actors/cluster/link_scribe.hpp"
#include "protocol/core/units.hpp"

#include <caf/io/basp_broker.hpp>

#include <map>
#include <memory>
#include <set>
#include <string>

namespace chalk::actors {

/// What an accepting process shows to those who dial it. The last one holds.
struct publish_root {
    caf::strong_actor_ptr root;
    std::set<std::string> interface;
};

struct open_link {
    link_number number{};
    link_side side = link_side::accepting;
    std::string peer;
    std::shared_ptr<unique_fd> socket; ///< closed when this message is lost
    milliseconds deadline{0};          ///< for the handshake
    bytes most_payload;
    std::set<std::string> expected; ///< of the root's interface
    caf::actor_addr owner;          ///< weak: a link keeps nobody alive
};

struct cut_link {
    link_number number{};
    std::string why;
};

/// To itself.
struct link_deadline_passed {
    link_number number{};
};

class link_broker final : public caf::io::basp_broker, public link_watcher {
  public:
    explicit link_broker(caf::actor_config& cfg) : basp_broker(cfg) {}

    caf::behavior make_behavior() override;
    void on_exit() override;

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
        caf::strong_actor_ptr root{};
    };

    void open(const open_link& order);
    void cut(link_number number, const std::string& why);
    void stands(std::map<link_number, link>::iterator which, caf::strong_actor_ptr root);

    std::map<link_number, link> links_;
};

} // namespace chalk::actors

CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::publish_root)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::open_link)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::cut_link)
CAF_ALLOW_UNSAFE_MESSAGE_TYPE(chalk::actors::link_deadline_passed)
