#include "actors/cluster/links.hpp"

#include "actors/cluster/link_orders.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace chalk::actors {

links::links(caf::actor_system& system, const link_library& library, const link_owner& owner, link_settings settings)
    : system_(system), owner_(owner.address()), settings_(settings) {
    library.find_broker(system, broker_);
}

void links::publish(caf::strong_actor_ptr root, std::set<std::string> interface) {
    caf::anon_send(broker_, publish_root{std::move(root), std::move(interface)});
}

link_number links::adopt(std::string peer, unique_fd socket) {
    return open(link_side::accepting, std::move(peer), std::move(socket), {});
}

link_number links::open(link_side side, std::string peer, unique_fd socket, std::set<std::string> expected) {
    static std::atomic<std::int64_t> last{0};
    const link_number number{++last};
    open_link order{number,
                    side,
                    std::move(peer),
                    std::make_shared<unique_fd>(std::move(socket)),
                    settings_.handshake_deadline,
                    settings_.most_payload,
                    std::move(expected),
                    owner_};
    caf::anon_send(broker_, std::move(order));
    return number;
}

void links::cut(link_number number, std::string why) {
    caf::anon_send(broker_, cut_link{number, std::move(why)});
}

} // namespace chalk::actors
