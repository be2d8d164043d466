/// A sweep on simulated nodes: the coordinator, the schedule and the journal of a real one, which do what the cluster
/// and sweep actors would have them do, in virtual time.
///
/// Owner: measure_cluster().
#pragma once

#include "actors/cluster/coordinator.hpp"
#include "actors/sweep/commit_queue.hpp"
#include "cli/bench/simulated_node.hpp"
#include "protocol/journal/journal_file.hpp"

#include <memory>
#include <random>
#include <unordered_set>
#include <vector>

namespace chalk::cli::bench {

class simulated_cluster final : public node_listener {
  public:
    struct plan {
        std::size_t nodes = 10;
        std::uint64_t cells = 1;
        std::uint64_t repeats = 1;
        std::uint32_t seed = 1;
    };
    struct figures {
        std::uint64_t placements = 0;
        std::uint64_t outcomes = 0;
        std::uint64_t errors = 0; ///< of them
        std::uint64_t nodes_lost = 0;
        std::uint64_t runs_lost = 0;
        std::uint64_t run_again = 0;
        std::uint64_t late_results = 0;
        virtual_time::moment last_outcome{0};
    };

    /// `file` is a new journal, and outlives this.
    simulated_cluster(const plan& what, journal::journal_file& file);

    /// To the last outcome. error_class::harness: the journal failed, or nothing more would ever happen.
    [[nodiscard]] result<figures> run();

    void said_hello(std::size_t node, const actors::node_offer& offer, std::optional<actors::lease_number> holds,
                    question asked) override;
    void said_renew(std::size_t node, actors::lease_number number, question asked) override;
    void said_has(std::size_t node, const std::set<actors::assignment_name>& running,
                  const std::set<actors::assignment_name>& ended) override;
    void said_holds(std::size_t node, const std::string& digest) override;
    void said_ended(std::size_t node, const actors::assignment_name& name, const outcome& how) override;
    void said_probed(std::size_t node, bool passed) override;
    void link_broke(std::size_t node) override;

  private:
    void make_nodes();
    void make_trouble();
    void tick();
    void hand_out();
    void carry_out();
    void write();
    void record(journal::record what) { commits_.add(std::move(what)); }
    void place(const actors::decision::place& what);
    void lose(const actors::decision::lose_run& what);
    void count_result(std::size_t node, const actors::assignment_name& name, const outcome& how);
    void keep_evidence(std::size_t node, const actors::assignment_name& name, const outcome& how);
    [[nodiscard]] actors::journalled_name ask_journal(const actors::assignment_name& name);
    void ended(actors::run_key run, const outcome& how);
    void failed(failure why);

    [[nodiscard]] simulated_node& node(const actors::node_id& id) { return *nodes_.at(index_.at(id)); }
    [[nodiscard]] actors::coordinator_time now() const { return actors::coordinator_time(time_.now()); }
    [[nodiscard]] actors::schedule::clock::time_point plan_time() const {
        return actors::schedule::clock::time_point(time_.now());
    }
    [[nodiscard]] wall_time wall() const;
    [[nodiscard]] journal::run_number number(actors::run_key run) const;

    plan what_;
    virtual_time time_;
    std::mt19937 random_;
    journal::journal_file& file_;
    actors::commit_queue commits_{true};
    std::optional<actors::coordinator> book_;
    actors::schedule schedule_;
    std::size_t window_;
    std::vector<std::unique_ptr<simulated_node>> nodes_;
    std::vector<actors::node_id> names_;
    std::unordered_map<actors::node_id, std::size_t> index_;
    std::vector<question> asked_; ///< with the last hello of each node
    std::unordered_set<std::uint64_t> described_;
    std::size_t out_ = 0; ///< handed out and not ended
    std::optional<virtual_time::moment> wake_;
    std::optional<failure> trouble_;
    figures figures_;
};

} // namespace chalk::cli::bench
