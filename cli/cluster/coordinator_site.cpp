#include "cli/cluster/coordinator_site.hpp"

#include "cli/cluster/cluster_metrics.hpp"
#include "cli/cluster/refusal_log.hpp"
#include "protocol/net/host_port.hpp"
#include "protocol/net/proxy.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::cli {

coordinator_site::coordinator_site(boost::asio::io_context& io, config::cluster_file cluster, speaker say)
    : io_(io), cluster_(std::move(cluster)), say_(std::move(say)) {}

coordinator_site::~coordinator_site() {
    for (const auto& one : redialers_) {
        one->stop();
    }
    metrics_.reset();
    std::shared_ptr<bulk_desk> bulk;
    {
        const std::scoped_lock held(shared_->mutex);
        shared_->tree = nullptr;
        bulk = std::move(shared_->bulk);
    }
    if (bulk) {
        bulk->close();
    }
}

result<std::unique_ptr<coordinator_site>> coordinator_site::open(boost::asio::io_context& io,
                                                                 config::cluster_file cluster,
                                                                 const std::vector<environment_tree>& trees,
                                                                 speaker say) {
    std::unique_ptr<coordinator_site> made(new coordinator_site(io, std::move(cluster), std::move(say)));
    auto library = actors::load_link_library();
    if (!library) {
        return library.error();
    }
    made->library_ = *library;
    auto bulk = bulk_desk::make(io, trees, made->say_);
    if (!bulk) {
        return bulk.error();
    }
    made->shared_->bulk = std::move(*bulk);
    const auto& file = made->cluster_;
    auto identity = read_identity({file.tls, file.name, file.allow});
    if (!identity) {
        return identity.error();
    }
    if (!file.listen.empty()) {
        if (auto listens = made->listen(*identity); !listens) {
            return listens.error();
        }
    }
    if (!file.nodes.empty()) {
        if (auto ready = made->prepare_dialling(*identity); !ready) {
            return ready.error();
        }
    }
    if (!file.metrics.empty()) {
        if (auto served = made->serve_metrics(); !served) {
            return served.error();
        }
    }
    return made;
}

result<void> coordinator_site::serve_metrics() {
    const auto where = parse_host_port(cluster_.metrics, true);
    if (!where) {
        return where.error();
    }
    auto made = metrics_server::listen(io_, *where, [to = shared_, port = front_](auto answer) {
        std::vector<std::pair<std::string_view, std::uint64_t>> refused;
        for (std::size_t i = 0; port && i < cluster::refusal_reasons; ++i) {
            const auto reason = static_cast<cluster::refusal_reason>(i);
            refused.emplace_back(cluster::name_of(reason), port->refused(reason));
        }
        const std::scoped_lock held(to->mutex);
        if (to->tree == nullptr) {
            answer(cluster_metrics(json::object(), json::object(), refused));
            return;
        }
        // One question after the other: both answers come from the sweep's own threads.
        to->tree->control(actors::control::nodes{}, [to, refused, answer](const result<std::string>& nodes) {
            const std::scoped_lock held_again(to->mutex);
            if (to->tree == nullptr || !nodes) {
                return;
            }
            to->tree->control(actors::control::look{},
                              [nodes = *nodes, refused, answer](const result<std::string>& sweep) {
                                  const auto parsed = parse_json(nodes);
                                  const auto figures = parse_json(sweep ? *sweep : std::string("{}"));
                                  if (parsed && figures) {
                                      answer(cluster_metrics(*parsed, *figures, refused));
                                  }
                              });
        });
    });
    if (!made) {
        return made.error();
    }
    metrics_ = std::move(*made);
    say_(fmt::format("metrics at http://{}/metrics", net::host_and_port(where->host, metrics_->port())));
    return {};
}

void coordinator_site::hand_on(const std::shared_ptr<shared>& to, cluster::peer_connection peer,
                               const std::shared_ptr<redialer>& by) {
    const std::scoped_lock held(to->mutex);
    if (to->tree == nullptr) {
        return; // too early or too late: the connection closes, and the peer comes again
    }
    if (peer.wanted == cluster::channel::control) {
        std::function<void()> ended;
        if (by) {
            ended = [by] { by->lost(); };
        }
        to->tree->adopt_node(peer.name.str(), std::move(peer.socket), by != nullptr, std::move(ended));
    } else {
        to->bulk->attach(peer.name.str(), std::move(peer.socket), by);
    }
}

result<void> coordinator_site::listen(const peer_identity& identity) {
    const auto where = parse_host_port(cluster_.listen, true);
    if (!where) {
        return where.error();
    }
    cluster::front_settings settings;
    settings.host = where->host;
    settings.port = where->port;
    cluster::front_events events;
    events.admitted = [to = shared_](cluster::peer_connection peer) { hand_on(to, std::move(peer), nullptr); };
    events.refused = [log = std::make_shared<refusal_log>(), say = say_](const cluster::refusal& why) {
        if (const auto line = log->line(why, std::chrono::steady_clock::now())) {
            say(*line);
        }
    };
    auto made = cluster::front::listen(io_, identity.tls, identity.allowed, settings, std::move(events));
    if (!made) {
        return made.error();
    }
    front_ = std::move(*made);
    return {};
}

result<void> coordinator_site::prepare_dialling(const peer_identity& identity) {
    auto made = cluster::dialer::make(io_, identity.tls, identity.allowed);
    if (!made) {
        return made.error();
    }
    dialer_ = std::move(*made);
    for (const auto& node : cluster_.nodes) {
        const auto where = parse_host_port(node);
        if (!where) {
            return where.error();
        }
        cluster::dial_target target;
        target.host = where->host;
        target.port = where->port;
        for (const auto channel : {cluster::channel::control, cluster::channel::bulk}) {
            target.wanted = channel;
            add_redialer(target);
        }
    }
    return {};
}

void coordinator_site::add_redialer(const cluster::dial_target& target) {
    // The handlers need the redialer that they are of, which holds them.
    const auto itself = std::make_shared<std::weak_ptr<redialer>>();
    redialer::events on;
    on.connected = [to = shared_, itself](cluster::peer_connection peer) {
        hand_on(to, std::move(peer), itself->lock());
    };
    on.failed = [say = say_](const std::string& why) { say(why + "; tried again"); };
    redialers_.push_back(std::make_shared<redialer>(io_, dialer_, target, std::move(on)));
    *itself = redialers_.back();
}

void coordinator_site::describe(actors::cluster_plan& plan) {
    plan.library = library_;
    plan.places = shared_->bulk->places();
}

void coordinator_site::start(actors::run_tree& tree) {
    {
        const std::scoped_lock held(shared_->mutex);
        shared_->tree = &tree;
    }
    for (const auto& one : redialers_) {
        one->dial();
    }
}

result<void> coordinator_site::reload() {
    auto identity = read_identity({cluster_.tls, cluster_.name, cluster_.allow});
    if (!identity) {
        return identity.error();
    }
    if (front_) {
        if (auto done = front_->reload(identity->tls, identity->allowed); !done) {
            return done;
        }
    }
    return dialer_ ? dialer_->reload(identity->tls, identity->allowed) : result<void>();
}

} // namespace chalk::cli
