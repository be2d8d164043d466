#include "actors/cluster_node.hpp"

#include "actors/cluster/lease_file.hpp"
#include "actors/cluster/link_system.hpp"
#include "actors/cluster/links.hpp"
#include "actors/cluster/node_agent.hpp"
#include "actors/run_services.hpp"

#include <mutex>
#include <utility>

#include <time.h>

namespace chalk::actors {

namespace {

class quiet_watcher final : public watcher {
  public:
    [[nodiscard]] bool wants_events() const noexcept override { return false; }
    void run_began(const run_order&) override {}
    void run_event(const run_order&, const event_ptr&) override {}
    void run_prepared(const run_order&) override {}
    void run_finished(const run_result&, const sweep_counts&) override {}
    void attempt_finished(const run_result&, const sweep_counts&) override {}
    void sweep_said(const std::string&) override {}
    void sweep_finished(const sweep_counts&, const std::optional<failure>&) override {}
};

node_time read_boot_clock() {
    timespec at{};
    ::clock_gettime(CLOCK_BOOTTIME, &at);
    return node_time(std::chrono::seconds(at.tv_sec) + std::chrono::nanoseconds(at.tv_nsec));
}

/// They hold actors, so they end before the actor system.
struct node_links {
    std::mutex mutex;
    std::optional<links> all;
};

class cluster_node_impl final : public cluster_node {
  public:
    cluster_node_impl(boost::asio::io_context& io, cluster_node_settings settings, const link_library& library,
                      std::shared_ptr<result_spool> spool, std::vector<assignment_name> kept)
        : services_(settings.pool_threads), config_({settings.scheduler_threads, true}, library) {
        if (!settings.watch) {
            settings.watch = std::make_shared<quiet_watcher>();
        }
        const auto lease_file = settings.folder / "lease.json";
        node_agent_settings agent;
        agent.name = std::move(settings.name);
        agent.node = {
            services_.make(io, system_,
                           {settings.sandboxes, settings.python, settings.file_tool, std::move(settings.watch)}),
            settings.capacity, settings.max_runs, std::move(settings.disk), std::nullopt};
        if (settings.models) {
            agent.node.models = services_.make_gateway_site(std::move(*settings.models));
        }
        agent.supply = std::move(settings.supply);
        agent.pool = services_.pool();
        agent.spool = std::move(spool);
        agent.kept = std::move(kept);
        agent.found = read_lease_file(lease_file);
        agent.lease_file = lease_file;
        agent.rules = settings.rules;
        agent.now = read_boot_clock;
        agent.cut_link = [links = links_](link_number which, std::string why) {
            const std::lock_guard lock(links->mutex);
            if (links->all) { // it hears of links only when they are there; it may outlive them by a moment
                links->all->cut(which, std::move(why));
            }
        };
        agent_ = spawn_node_agent(system_, std::move(agent));
        const std::lock_guard lock(links_->mutex);
        links_->all.emplace(system_, library, caf::actor_cast<link_owner>(agent_));
        links_->all->publish(caf::actor_cast<node_port>(agent_));
    }

    ~cluster_node_impl() override {
        caf::anon_send_exit(agent_, caf::exit_reason::user_shutdown);
        agent_ = nullptr;
        {
            const std::lock_guard lock(links_->mutex);
            links_->all.reset();
        }
        services_.shut_down(); // its works send to actors: they end first
        // An actor that waits for a runtime's call which hangs must not keep chalk from ending.
        system_.await_actors_before_shutdown(false);
    }

    void adopt(std::string peer, unique_fd socket) override { links_->all->adopt(std::move(peer), std::move(socket)); }
    void connect(std::string peer, unique_fd socket) override {
        links_->all->connect<coordinator_port>(std::move(peer), std::move(socket));
    }
    void digest_changed(std::string digest, bool holds) override {
        caf::anon_send(agent_, tell_digest{std::move(digest), holds});
    }
    void quit() override { caf::anon_send(agent_, quit_cluster{}); }

  private:
    own_services services_; ///< its folder goes when the actors have ended
    std::shared_ptr<node_links> links_ = std::make_shared<node_links>();
    link_system_settings config_;
    caf::actor_system system_{config_};
    node_agent agent_;
};

} // namespace

result<std::unique_ptr<cluster_node>> cluster_node::start(boost::asio::io_context& io, cluster_node_settings settings) {
    const auto library = load_link_library();
    if (!library) {
        return library.error();
    }
    auto spool = std::make_shared<result_spool>(settings.folder / "spool");
    auto found = spool->open();
    if (!found) {
        return found.error();
    }
    for (const auto& text : found->left) {
        settings.supply->say(text);
    }
    return std::make_unique<cluster_node_impl>(io, std::move(settings), **library, std::move(spool),
                                               std::move(found->whole));
}

} // namespace chalk::actors
