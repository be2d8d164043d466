#include "actors/tree.hpp"

#include "actors/cluster/link_system.hpp"
#include "actors/run_services.hpp"
#include "actors/sweep/interfaces.hpp"
#include "actors/system.hpp"

#include <utility>

namespace chalk::actors {

namespace {

class tree_impl final : public run_tree {
  public:
    tree_impl(boost::asio::io_context& io, tree_settings settings)
        : services_(settings.pool_threads), config_(make_config({settings.scheduler_threads, true}, settings.cluster)) {
        sweep_settings sweep;
        sweep.plan = std::move(settings.plan);
        sweep.make_order = std::move(settings.make_order);
        sweep.node = {
            services_.make(io, system_,
                           {settings.sandboxes, settings.python, settings.file_tool, std::move(settings.watch)}),
            settings.capacity, settings.max_runs, std::move(settings.disk), std::nullopt};
        sweep.budget = settings.budget;
        sweep.spent_before = settings.spent_before;
        sweep.journal = std::move(settings.journal);
        sweep.deadline = settings.deadline;
        if (settings.models) {
            sweep.node.models = services_.make_gateway_site(std::move(*settings.models));
        }
        sweep.window = settings.window;
        if (settings.cluster) {
            static_cast<cluster_plan&>(sweep.cluster.emplace()) = std::move(*settings.cluster);
        }
        sweep_ = spawn_sweep(system_, std::move(sweep));
    }

    ~tree_impl() override {
        caf::anon_send_exit(sweep_, caf::exit_reason::user_shutdown);
        sweep_ = nullptr;
        services_.shut_down(); // its works send to actors: they end first
        // An actor that waits for a runtime's call which hangs must not keep chalk from ending.
        system_.await_actors_before_shutdown(false);
    }

    void cancel(const std::string& reason) override { caf::anon_send(sweep_, cancel_sweep{reason}); }
    void kill(const std::string& reason) override { caf::anon_send(sweep_, kill_sweep{reason}); }
    void control(sweep_control what, std::function<void(result<std::string>)> answer) override {
        caf::anon_send(sweep_, control_sweep{std::move(what), std::move(answer)});
    }
    void adopt_node(std::string name, unique_fd socket, bool dialled) override {
        caf::anon_send(sweep_, peer_came{std::move(name), std::make_shared<unique_fd>(std::move(socket)), dialled});
    }
    void look_at_cluster(std::function<void(std::string)> answer) override {
        caf::anon_send(sweep_, actors::look_at_cluster{std::move(answer)});
    }
    std::uint64_t actors_started() const override { return system_.latest_actor_id(); }

  private:
    static std::unique_ptr<actor_system_settings> make_config(const system_options& options,
                                                              const std::optional<cluster_plan>& cluster) {
        return cluster ? std::make_unique<link_system_settings>(options, *cluster->library)
                       : std::make_unique<actor_system_settings>(options);
    }

    own_services services_; ///< its folder goes when the actors have ended
    std::unique_ptr<actor_system_settings> config_;
    caf::actor_system system_{*config_};
    sweep_actor sweep_;
};

} // namespace

std::unique_ptr<run_tree> run_tree::start(boost::asio::io_context& io, tree_settings settings) {
    return std::make_unique<tree_impl>(io, std::move(settings));
}

} // namespace chalk::actors
