#include "actors/cluster/basp/link_broker.hpp"

#include "actors/cluster/link_events.hpp"

#include <caf/forwarding_actor_proxy.hpp>
#include <caf/io/middleman.hpp>
#include <caf/io/network/default_multiplexer.hpp>
#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

namespace {

/// The root is the only thing that is published, and no port stands behind this number.
constexpr std::uint16_t root_port = 1;

caf::io::connection_handle link_handle(link_number number) {
    return caf::io::connection_handle::from_int(static_cast<std::int64_t>(number));
}

link_number number_of(caf::io::connection_handle handle) {
    return link_number{handle.id()};
}

} // namespace

caf::behavior link_broker::make_behavior() {
    caf::message_handler own{
        [this](const publish_root& what) {
            system().registry().put(what.root->id(), what.root);
            instance.add_published_actor(root_port, what.root, what.interface);
        },
        [this](const open_link& order) { open(order); },
        [this](const cut_link& which) { cut(which.number, which.why); },
        [this](const link_deadline_passed& of) {
            const auto i = links_.find(of.number);
            if (i != links_.end() && i->second.state == standing::waiting) {
                i->second.late = true;
                cut(of.number, "its handshake did not come before the deadline");
            }
        },
    };
    return own.or_else(basp_broker::make_behavior());
}

void link_broker::on_exit() {
    // CAF closes the connections after this, and its protocol's state is gone by then.
    links_.clear();
    basp_broker::on_exit();
}

void link_broker::open(const open_link& order) {
    auto& loop = dynamic_cast<caf::io::network::default_multiplexer&>(parent().backend());
    links_.emplace(order.number, link{order.side, order.peer, order.owner, order.expected});
    add_scribe(
        caf::make_counted<link_scribe>(loop, std::move(*order.socket), order.number, order.side, order.most_payload));
    const auto handle = link_handle(order.number);
    set_context(handle);
    if (order.side == link_side::accepting) {
        instance.write_server_handshake(context(), get_buffer(handle), root_port);
        flush(handle);
    }
    configure_read(handle, caf::io::receive_policy::exactly(caf::io::basp::header_size));
    delayed_send(this, order.deadline, link_deadline_passed{order.number});
}

void link_broker::cut(link_number number, const std::string& why) {
    const auto handle = link_handle(number);
    if (auto scribe = by_id(handle)) {
        static_cast<link_scribe&>(*scribe).blame(why);
    }
    // First, and also when the socket is gone: CAF's own word about its end may still wait in a queue, and until it
    // comes CAF takes the peer for connected.
    connection_cleanup(handle, caf::sec::disconnect_during_handshake);
    close(handle);
}

caf::strong_actor_ptr link_broker::make_proxy(caf::node_id peer, caf::actor_id actor) {
    if (peer == caf::none || actor == caf::invalid_actor_id) {
        return nullptr;
    }
    caf::actor_config settings;
    auto proxy = caf::make_actor<caf::forwarding_actor_proxy, caf::strong_actor_ptr>(actor, peer, &system(), settings,
                                                                                     caf::actor(this));
    // Holds the proxy until it has ended, and this broker.
    proxy->get()->attach_functor([proxy, peer, actor, self = caf::strong_actor_ptr(ctrl())](const caf::error& why) {
        auto* const home = static_cast<link_broker*>(self->get());
        home->parent().backend().post([=] {
            if (!home->getf(is_terminated_flag) && home->proxies().get(peer, actor).get() == proxy.get()) {
                home->proxies().erase(peer, actor, why);
            }
            (void)self;
        });
    });
    return proxy;
}

void link_broker::handshake_came(link_number number, std::string_view payload) {
    caf::binary_deserializer source(context(), payload.data(), payload.size());
    caf::node_id peer;
    if (source(peer)) {
        return; // CAF finds that as well and ends the connection
    }
    // CAF keeps the old connection to a process and drops the new one. But the peer dials again because the old one is
    // dead, whether this side has noticed or not.
    if (const auto old = instance.tbl().lookup_direct(peer)) {
        cut(number_of(*old),
            fmt::format("link {} to the same process took its place", static_cast<std::int64_t>(number)));
    }
}

void link_broker::finalize_handshake(const caf::node_id& peer, caf::actor_id root, std::set<std::string>& interface) {
    this_context->id = peer;
    const auto number = number_of(this_context->hdl);
    const auto i = links_.find(number);
    if (i == links_.end()) {
        return;
    }
    // CAF goes on with the connection after this: what is to be cut is cut by a message.
    if (peer == this_node()) {
        send(this, cut_link{number, "it leads back into this process"});
    } else if (root == caf::invalid_actor_id) {
        send(this, cut_link{number, "the peer has published nothing"});
    } else if (!system().assignable(interface, i->second.expected)) {
        send(this, cut_link{number, "the peer's root does not take the messages that we send"});
    } else {
        stands(i, peer, proxies().get_or_put(peer, root));
    }
}

void link_broker::learned_new_node_directly(const caf::node_id& peer, bool) {
    const auto i = links_.find(number_of(this_context->hdl));
    if (i != links_.end() && i->second.side == link_side::accepting) {
        stands(i, peer, nullptr);
    }
}

void link_broker::stands(std::map<link_number, link>::iterator which, const caf::node_id& process,
                         caf::strong_actor_ptr root) {
    auto& [number, of] = *which;
    of.state = standing::up;
    of.root = root;
    of.process = process;
    if (const auto owner = caf::actor_cast<caf::strong_actor_ptr>(of.owner)) {
        anon_send(caf::actor_cast<link_owner>(owner), peer_linked{number, of.peer, of.process, std::move(root)});
    }
}

void link_broker::link_ended(link_number number, const std::string& why) {
    auto ended = links_.extract(number);
    if (ended.empty()) {
        return;
    }
    auto& of = ended.mapped();
    const auto owner = caf::actor_cast<link_owner>(caf::actor_cast<caf::strong_actor_ptr>(of.owner));
    if (owner == nullptr) {
        return;
    }
    if (of.state == standing::up) {
        anon_send(owner, link_lost{number, of.peer, of.process, std::move(of.root), why});
        return;
    }
    const auto kind = of.late ? error_class::timeout : error_class::node_lost;
    anon_send(owner, link_failed{number, of.peer, {kind, fmt::format("no link with '{}': {}", of.peer, why)}});
}

} // namespace chalk::actors
