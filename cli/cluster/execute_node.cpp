#include "cli/cluster/execute_node.hpp"

#include "actors/cluster_node.hpp"
#include "cli/cluster/command_supply.hpp"
#include "cli/cluster/refusal_log.hpp"
#include "cli/cluster/sweep_sheet.hpp"
#include "cli/refused.hpp"
#include "cli/run/interrupts.hpp"
#include "cli/run/limits.hpp"
#include "cli/run/model_access.hpp"
#include "cli/run/prepare_run.hpp"
#include "protocol/cluster/front.hpp"
#include "protocol/event/event.hpp"
#include "protocol/journal/folder_lock.hpp"
#include "protocol/net/host_port.hpp"
#include "protocol/net/io_thread.hpp"
#include "runtimes/bundle/bundle.hpp"

#include <fmt/format.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <semaphore>
#include <utility>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view chalk_node = "chalk node";

/// A daemon's lines: when, and what. To standard error, since that is what a service manager keeps.
void say_line(const std::string& text) {
    static std::mutex one_at_a_time;
    const std::scoped_lock held(one_at_a_time);
    fmt::print(stderr, "{} {}\n", format_time(std::chrono::system_clock::now()), text);
}

/// What this machine has to give, and to run with.
struct node_parts {
    prepared_runs site;
    actors::cluster_node_settings node;
    actors::node_offer offer;
};

step_result<node_parts> look_at_node(boost::asio::io_context& io, const node_options& options, const own_keys& keys) {
    node_parts parts;
    auto site = prepare_site(io, options.how);
    if (!site) {
        return site.error();
    }
    parts.site = std::move(*site);
    if (!options.how.no_containerized && !parts.site.sandboxes) {
        // Without a word on it: the default one if it works here, and else runs without a sandbox alone.
        auto tried = options.how;
        tried.runtime = "namespaces";
        if (auto with = prepare_site(io, tried)) {
            parts.site = std::move(*with);
        } else {
            say_line(with.error().message);
        }
    }
    if (parts.site.sandboxes) {
        remove_leftovers(parts.site);
        parts.offer.runtimes.emplace(parts.site.sandboxes->name());
    }
    parts.offer.runtimes.emplace(no_runtime);
    auto machine = look_at_machine(options.folder);
    if (!machine) {
        return usage_refusal(machine.error());
    }
    auto one_run = options.how; // a run of any kind: what matters is what there is to share out
    one_run.no_containerized = true;
    auto limits = plan_limits(*machine, one_run, true);
    if (!limits) {
        return refusal_of(limits.error(), exit_code::machine_lacks);
    }
    parts.offer.version = CHALK_VERSION;
    parts.offer.capacity = limits->capacity;
    for (const auto& label : options.labels) {
        const auto equals = label.find('=');
        if (equals == 0 || equals == std::string::npos || label.find('\n') != std::string::npos) {
            return refused{exit_code::usage, fmt::format("--label {}: expected KEY=VALUE", label)};
        }
        parts.offer.labels.insert(label);
    }
    auto found = bundle::find_parts();
    if (!found) {
        return refusal_of(found.error(), exit_code::machine_lacks);
    }
    auto models = make_node_gateway_settings(options.how, gateway::read_provider_settings(keys));
    if (!models) {
        return usage_refusal(models.error());
    }
    parts.node.folder = options.folder;
    parts.node.capacity = limits->capacity;
    parts.node.max_runs = options.how.max_concurrent;
    parts.node.sandboxes = parts.site.sandboxes;
    parts.node.python = found->python;
    parts.node.file_tool = found->file_tool;
    parts.node.models = std::move(*models);
    parts.node.disk = options.folder;
    return parts;
}

/// Connections that are kept for a node that is just being started.
constexpr std::size_t most_early = 64;

/// The connections of a node: those that it makes, or those that come.
class node_port {
  public:
    node_port(boost::asio::io_context& io, const node_options& options) : io_(io), options_(options) {}
    node_port(const node_port&) = delete;
    node_port& operator=(const node_port&) = delete;
    ~node_port() { stop(); }

    [[nodiscard]] result<void> open(const peer_identity& identity) {
        return options_.join.empty() ? listen(identity) : prepare_dialling(identity);
    }
    /// From now on connections are theirs.
    void start(actors::cluster_node& node, std::shared_ptr<command_supply> supply) {
        std::vector<early_peer> early;
        {
            const std::scoped_lock held(hands_->mutex);
            hands_->node = &node;
            hands_->supply = std::move(supply);
            early = std::exchange(hands_->early, {});
        }
        for (auto& one : early) {
            take(hands_, std::move(one.peer), one.dialled);
        }
    }
    /// Any thread, these two: a connection of that kind is wanted, the last one is gone.
    void want_control() { want(control_); }
    void want_bulk() { want(bulk_); }
    void stop() {
        for (const auto& one : {control_, bulk_}) {
            if (one) {
                one->stop();
            }
        }
        front_.reset();
        const std::scoped_lock held(hands_->mutex);
        hands_->node = nullptr;
        hands_->supply.reset();
        hands_->early.clear();
        hands_->stopped = true;
    }
    [[nodiscard]] std::uint16_t port() const { return front_ ? front_->port() : 0; }
    [[nodiscard]] result<void> reload() {
        auto identity = read_identity(options_.identity);
        if (!identity) {
            return identity.error();
        }
        return front_    ? front_->reload(identity->tls, identity->allowed)
               : dialer_ ? dialer_->reload(identity->tls, identity->allowed)
                         : result<void>();
    }

  private:
    struct early_peer {
        cluster::peer_connection peer;
        bool dialled = false;
    };
    /// Held by handlers that are under way.
    struct hands {
        std::mutex mutex;
        actors::cluster_node* node = nullptr;
        std::shared_ptr<command_supply> supply;
        std::vector<early_peer> early; ///< that came before the node had started: one that dials does so at once
        bool stopped = false;
    };

    static void take(const std::shared_ptr<hands>& to, cluster::peer_connection peer, bool dialled) {
        const std::scoped_lock held(to->mutex);
        if (to->node == nullptr) {
            if (!to->stopped && to->early.size() < most_early) {
                to->early.push_back({std::move(peer), dialled});
            }
            return;
        }
        if (peer.wanted == cluster::channel::bulk) {
            to->supply->attach(std::move(peer.socket));
        } else if (dialled) {
            to->node->connect(peer.name.str(), std::move(peer.socket));
        } else {
            to->node->adopt(peer.name.str(), std::move(peer.socket));
        }
    }

    static void want(const std::shared_ptr<redialer>& by) {
        if (by) { // else whoever runs the sweep dials
            by->dial();
            by->lost();
        }
    }

    result<void> listen(const peer_identity& identity) {
        const auto where = parse_host_port(options_.listen, true);
        if (!where) {
            return where.error();
        }
        cluster::front_settings settings;
        settings.host = where->host;
        settings.port = where->port;
        cluster::front_events on;
        on.admitted = [to = hands_](cluster::peer_connection peer) { take(to, std::move(peer), false); };
        on.refused = [log = std::make_shared<refusal_log>()](const cluster::refusal& why) {
            if (const auto line = log->line(why, std::chrono::steady_clock::now())) {
                say_line(*line);
            }
        };
        auto made = cluster::front::listen(io_, identity.tls, identity.allowed, settings, std::move(on));
        if (!made) {
            return made.error();
        }
        front_ = std::move(*made);
        return {};
    }

    result<void> prepare_dialling(const peer_identity& identity) {
        const auto where = parse_host_port(options_.join);
        if (!where) {
            return where.error();
        }
        auto made = cluster::dialer::make(io_, identity.tls, identity.allowed);
        if (!made) {
            return made.error();
        }
        dialer_ = std::move(*made);
        cluster::dial_target target;
        target.host = where->host;
        target.port = where->port;
        const auto redial = [&](cluster::channel channel) {
            target.wanted = channel;
            redialer::events on;
            on.connected = [to = hands_](cluster::peer_connection peer) { take(to, std::move(peer), true); };
            on.failed = [](const std::string& why) { say_line(why + "; tried again"); };
            return std::make_shared<redialer>(io_, dialer_, target, std::move(on));
        };
        control_ = redial(cluster::channel::control);
        bulk_ = redial(cluster::channel::bulk);
        return {};
    }

    boost::asio::io_context& io_;
    const node_options& options_;
    std::shared_ptr<hands> hands_ = std::make_shared<hands>();
    std::shared_ptr<cluster::front> front_;
    std::shared_ptr<cluster::dialer> dialer_;
    std::shared_ptr<redialer> control_;
    std::shared_ptr<redialer> bulk_;
};

} // namespace

exit_code execute_node(const node_options& options, const own_keys& keys) {
    ::signal(SIGPIPE, SIG_IGN);
    std::error_code ec;
    fs::create_directories(options.folder, ec);
    if (ec) {
        return refuse(chalk_node, {exit_code::usage, fmt::format("{}: {}", options.folder.string(), ec.message())});
    }
    const auto lock = journal::folder_lock::take(options.folder);
    if (!lock) {
        return refuse(chalk_node, usage_refusal(lock.error()));
    }
    auto identity = read_identity(options.identity);
    if (!identity) {
        return refuse(chalk_node, usage_refusal(identity.error()));
    }
    io_thread io;
    auto parts = look_at_node(io.context(), options, keys);
    if (!parts) {
        return refuse(chalk_node, parts.error());
    }
    node_port port(io.context(), options);
    if (auto opened = port.open(*identity); !opened) {
        return refuse(chalk_node, usage_refusal(opened.error()));
    }
    std::binary_semaphore ended(0);
    std::atomic<bool> said_end = false;
    const auto end = [&] {
        if (!said_end.exchange(true)) {
            ended.release();
        }
    };
    supply_settings supply_how;
    supply_how.sandboxes = parts->site.sandboxes;
    supply_how.offer = parts->offer;
    supply_how.folder = options.folder;
    supply_how.cache = bytes{options.cache_gib << 30U};
    supply_how.say = say_line;
    supply_how.want_link = [&port] { port.want_control(); };
    supply_how.want_bulk = [&port] { port.want_bulk(); };
    supply_how.left = end;
    auto supply = command_supply::make(io.context(), keys, std::move(supply_how));
    if (!supply) {
        return refuse(chalk_node, usage_refusal(supply.error()));
    }
    const auto name = actors::node_id::parse(identity->name.str());
    if (!name) {
        return refuse(chalk_node, usage_refusal(name.error()));
    }
    parts->node.name = *name;
    parts->node.supply = *supply;
    auto node = actors::cluster_node::start(io.context(), std::move(parts->node));
    if (!node) {
        return refuse(chalk_node, usage_refusal(node.error()));
    }
    port.start(**node, *supply); // it has asked for a link already
    port.want_bulk();
    say_line(options.join.empty() ? fmt::format("node {} listens at port {}", name->str(), port.port())
                                  : fmt::format("node {} joins {}", name->str(), options.join));
    {
        // The first ends the node in order, a second one at once; SIGHUP reads its certificates again.
        const interrupts signals(
            io.context(),
            [&](const std::string&) {
                say_line("ending: what runs is stopped, what is finished is delivered");
                (*node)->quit();
            },
            [&](const std::string&) { end(); },
            [&] {
                const auto done = port.reload();
                say_line(done ? "the certificates were read again" : done.error().message);
            });
        ended.acquire();
    }
    port.stop();
    node->reset();
    (*supply)->close();
    say_line(fmt::format("node {} has ended", name->str()));
    return exit_code::fine;
}

} // namespace chalk::cli
