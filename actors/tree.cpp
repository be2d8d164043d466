#include "actors/tree.hpp"

#include "actors/cluster/link_system.hpp"
#include "actors/local_harness.hpp"
#include "actors/sweep/interfaces.hpp"
#include "actors/system.hpp"
#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/owner.hpp"

#include <system_error>
#include <utility>

#include <sys/stat.h>

namespace chalk::actors {

namespace {

class tree_impl final : public run_tree {
  public:
    tree_impl(boost::asio::io_context& io, tree_settings settings)
        : pool_(make_blocking_pool(settings.pool_threads)),
          config_(make_config({settings.scheduler_threads, true}, settings.cluster)) {
        auto services = std::make_shared<run_services>();
        services->site = {settings.sandboxes, pool_, &io};
        services->local_harness = make_local_harness_factory(io, places_, settings.python, settings.file_tool);
        services->transcripts = spawn_transcript_writer(system_, pool_);
        services->watch = std::move(settings.watch);
        sweep_settings sweep;
        sweep.plan = std::move(settings.plan);
        sweep.make_order = std::move(settings.make_order);
        sweep.node = {std::move(services), settings.capacity, settings.max_runs, std::move(settings.disk),
                      std::nullopt};
        sweep.budget = settings.budget;
        sweep.spent_before = settings.spent_before;
        sweep.journal = std::move(settings.journal);
        sweep.deadline = settings.deadline;
        if (settings.models) {
            // Named as the runtimes' own folders are, so that what is left of a killed chalk is found and removed.
            sockets_ = namespaces::default_state_folder() / namespaces::make_owner_name();
            make_private_folder(sockets_);
            sweep.node.models = gateway_site{std::move(*settings.models), sockets_, spawn_gateway};
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
        pool_->shut_down(); // its works send to actors: they end first
        places_->close();
        // An actor that waits for a runtime's call which hangs must not keep chalk from ending.
        system_.await_actors_before_shutdown(false);
        if (!sockets_.empty()) {
            std::error_code ignored; // the next chalk removes what is left
            std::filesystem::remove_all(sockets_, ignored);
        }
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

    /// Should it fail, the sockets cannot be bound, and the runs say so.
    static void make_private_folder(const std::filesystem::path& folder) {
        std::error_code ignored;
        std::filesystem::create_directories(folder.parent_path(), ignored);
        ::mkdir(folder.c_str(), 0700);
    }

    std::filesystem::path sockets_;
    std::shared_ptr<place_pool> places_ = std::make_shared<place_pool>();
    std::shared_ptr<blocking_pool> pool_;
    std::unique_ptr<actor_system_settings> config_;
    caf::actor_system system_{*config_};
    sweep_actor sweep_;
};

} // namespace

std::unique_ptr<run_tree> run_tree::start(boost::asio::io_context& io, tree_settings settings) {
    return std::make_unique<tree_impl>(io, std::move(settings));
}

} // namespace chalk::actors
