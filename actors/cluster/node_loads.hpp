/// How much each node has to do, kept in the order of load, so that the least loaded one is found without a look at
/// all: for all nodes, and for those that hold a digest that runs ask for. Pure.
///
/// Owner: placement.
#pragma once

#include "actors/cluster/membership.hpp"
#include "actors/cluster/resource_sums.hpp"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace chalk::actors {

struct loaded_node;

/// Where a node stands: by load, of the same load by runs, then in the order in which they came.
struct load_rank {
    std::uint32_t load = 0; ///< its dominant share
    std::size_t runs = 0;
    std::uint64_t number = 0;
    loaded_node* node = nullptr;
    friend bool operator<(const load_rank& a, const load_rank& b) {
        return std::tie(a.load, a.runs, a.number) < std::tie(b.load, b.runs, b.number);
    }
};
using nodes_by_load = std::set<load_rank>;

struct loaded_node {
    node_id id;
    node_offer offer;
    member_state state = member_state::ready;
    resources room; ///< for runs that it has, those that wait there among them: its capacity and the slack
    resources used;
    load_rank rank;
    std::optional<std::uint64_t> kept_for; ///< placement's: nobody who came after that one starts here
};

class node_loads {
  public:
    /// A holder of what a run wants is preferred to another while its load is larger by no more than this for each
    /// digest that the other lacks: a node that must fetch pays once, one that is crowded pays with each run.
    static constexpr std::uint32_t worth_of_digest = whole_share / 4;

    /// `slack`: by what share of its capacity a node's room is larger.
    explicit node_loads(double slack = 0) : slack_(slack) {}

    /// A node, or what it offers now.
    loaded_node& put(const node_id& id, const node_offer& offer, member_state state);
    void remove(const node_id& id);
    [[nodiscard]] loaded_node* find(const node_id& id);

    void change_state(loaded_node& node, member_state state);
    void begin_run(loaded_node& node, const resources& wanted);
    void end_run(loaded_node& node, const resources& wanted);
    void change_digest(loaded_node& node, const std::string& digest, bool holds);

    /// Of the ready nodes that `may` take the run, the one to take it; null: none may.
    [[nodiscard]] loaded_node* choose(const std::vector<std::string>& digests,
                                      const std::function<bool(const loaded_node&)>& may);
    /// The ready nodes, the least loaded first.
    [[nodiscard]] const nodes_by_load& ready() const noexcept { return ready_; }
    [[nodiscard]] const std::map<node_id, std::unique_ptr<loaded_node>>& all() const noexcept { return nodes_; }

  private:
    /// A holder is looked for among so many of the least loaded nodes, and among all holders when they are no more than
    /// that. So a digest that few hold is found, and of one that many hold a good holder; no choice looks at all nodes.
    static constexpr std::size_t most_looks = 64;

    void take_out(loaded_node& node);
    void put_in(loaded_node& node);
    void note_holder(loaded_node& node, const std::string& digest);
    void note_no_holder(loaded_node& node, const std::string& digest);

    double slack_;
    std::map<node_id, std::unique_ptr<loaded_node>> nodes_;
    nodes_by_load ready_;
    std::unordered_map<std::string, std::vector<loaded_node*>> holders_;
    std::uint64_t last_number_ = 0;
};

} // namespace chalk::actors
