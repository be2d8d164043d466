/// The whole supervision tree behind a door without CAF, for the commands: sweep -> node -> runs, or sweep -> cluster,
/// whose nodes are other processes (cluster_node.hpp).
///
/// Owner: the command. Its destructor waits for nothing but the end of the actors: the command first waits until its
/// watcher heard sweep_finished.
#pragma once

#include "actors/cluster/cluster_plan.hpp"
#include "actors/node/ledger.hpp"
#include "actors/run/run_machine.hpp"
#include "actors/run/run_order.hpp"
#include "actors/sweep/spending_book.hpp"
#include "actors/sweep/sweep_control.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/gateway/gateway.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace chalk::actors {

struct tree_settings {
    std::optional<schedule> plan; ///< what to run
    /// Makes the order of one run when its turn comes. Called on an actor's thread; must not block.
    std::function<order_ptr(run_key, attempt_number)> make_order;
    resources capacity;
    std::optional<std::size_t> max_runs;
    std::shared_ptr<runtime> sandboxes; ///< null when every run is --no-containerized
    /// For harnesses of this process: the folder of the package chalk, and the student's file helper.
    std::filesystem::path python;
    std::filesystem::path file_tool;
    /// How runs with a model are served; absent: none has one.
    std::optional<gateway::gateway_settings> models;
    std::shared_ptr<watcher> watch;
    std::filesystem::path disk; ///< whose room is watched while runs start; empty: none is
    spending_limits budget;
    amount spent_before; ///< of the budget, by an earlier chalk
    std::optional<sweep_journal> journal;
    /// Nodes that run everything instead of this machine; needs a journal. Absent: none.
    std::optional<cluster_plan> cluster;
    std::optional<milliseconds> deadline; ///< of the whole
    std::size_t scheduler_threads = 2;
    std::size_t pool_threads = 8;
    std::size_t window = 4096;
};

class run_tree {
  public:
    /// Starts at once. `io` outlives the tree.
    [[nodiscard]] static std::unique_ptr<run_tree> start(boost::asio::io_context& io, tree_settings settings);
    run_tree() = default;
    run_tree(const run_tree&) = delete;
    run_tree& operator=(const run_tree&) = delete;
    virtual ~run_tree() = default;

    /// Any thread. Every run ends in order, as cancelled.
    virtual void cancel(const std::string& reason) = 0;
    /// Any thread. Every run ends at once.
    virtual void kill(const std::string& reason) = 0;
    /// Any thread. `answer` is called once, on an actor's thread; never when the sweep is over meanwhile.
    virtual void control(sweep_control what, std::function<void(result<std::string>)> answer) = 0;
    /// Any thread. The control connection of an authenticated node of the cluster; `dialled`: by us. `ended` is called
    /// once, from any thread, when nothing more comes of it; may be empty.
    virtual void adopt_node(std::string name, unique_fd socket, bool dialled, std::function<void()> ended) = 0;
    /// Any thread. How many actors this process has started for the tree so far; those in sandboxes are not among them.
    [[nodiscard]] virtual std::uint64_t actors_started() const = 0;
};

/// As in actors/cluster/link_library.hpp, which needs CAF.
[[nodiscard]] result<const link_library*> load_link_library();

/// As in actors/harness/interfaces.hpp, which needs CAF.
[[nodiscard]] result<void> check_run_config(const config::run_config& config, const std::string& gateway_socket);

/// As in actors/harness/inner.hpp: this process is the harness of a sandbox. Returns its exit code.
[[nodiscard]] int run_inner_harness(int channel_fd);

} // namespace chalk::actors
