/// Which run starts on which node. A node takes a run that fits beside what it has, with the runtime and the labels
/// that the run asks for; of those that could, the one that holds its environment and image, else the least loaded.
/// Pure, and the same questions in the same order give the same answers.
///
/// Runs that fit nowhere wait in the order in which they came, those that ask for the same in one line. The first of
/// each line has a node kept for it: nobody who came later starts there, so a big run gets its turn as that node's runs
/// end, as in a node's own ledger, while the rest of the cluster goes on.
///
/// A node that an attempt of the run failed on is left out while another one could ever take it that is ready, or
/// suspect and thus soon ready or lost.
///
/// Owner: the cluster actor. When it dies, adopt() tells the next one what the nodes kept alive.
#pragma once

#include "actors/cluster/node_loads.hpp"
#include "actors/sweep/schedule.hpp"

#include <deque>
#include <unordered_map>

namespace chalk::actors {

struct run_needs {
    resources wanted;
    std::string runtime; ///< empty: whichever
    std::set<std::string, std::less<>> labels;
    std::set<node_id> avoid;          ///< nodes that it failed on
    std::vector<std::string> digests; ///< environment and image: better where they are
};

struct placed_run {
    run_key run;
    node_id node;
    friend bool operator==(const placed_run&, const placed_run&) = default;
};

/// Every function that returns placed runs has placed them: what they want is reserved until release().
class placement {
  public:
    /// `slack`: what a node is given beyond its capacity, as a share of that. A run larger than the capacity itself
    /// does not go there: it could never begin.
    explicit placement(double slack = 0) : nodes_(slack) {}

    /// A node, or what it offers and is now.
    [[nodiscard]] std::vector<placed_run> put_node(const node_id& id, const node_offer& offer, member_state state);
    [[nodiscard]] std::vector<placed_run> set_state(const node_id& id, member_state state);
    /// It is lost: nothing is reserved there any more.
    [[nodiscard]] std::vector<placed_run> remove_node(const node_id& id);
    void change_digest(const node_id& id, const std::string& digest, bool holds);

    /// A run that is to start. It may wait, also for a node that is yet to join. Asked for twice it changes nothing.
    [[nodiscard]] std::vector<placed_run> request(run_key run, run_needs needs);
    /// The run is over, or waits no more.
    [[nodiscard]] std::vector<placed_run> release(run_key run);
    /// The run is alive on that node since before a restart; may take more than the node says to have. False: there is
    /// no such node, or the run is known.
    bool adopt(run_key run, const node_id& node, const resources& wanted);

    /// Why no node of the cluster could ever take such a run, for a person. nullopt: one could.
    [[nodiscard]] std::optional<std::string> obstacle(const run_needs& needs) const;
    [[nodiscard]] std::size_t placed() const noexcept { return placed_.size(); }
    [[nodiscard]] std::size_t waiting() const noexcept { return waiting_.size(); }

  private:
    using age = std::uint64_t; ///< counted up with each run that comes to wait

    struct waiting_run {
        run_key run;
        std::vector<std::string> digests;
    };
    struct line {
        run_needs needs; ///< without digests, which keep nobody from a node
        std::map<age, waiting_run> runs;
        loaded_node* kept = nullptr; ///< for the first of them
    };
    struct needs_order {
        bool operator()(const run_needs& a, const run_needs& b) const;
    };
    struct reservation {
        loaded_node* node = nullptr;
        resources wanted;
    };
    struct place_in_line {
        line* where = nullptr;
        age since = 0;
    };
    struct key_hash {
        std::size_t operator()(const run_key& k) const noexcept {
            return std::hash<std::uint64_t>{}(k.cell * 0x9E3779B97F4A7C15ULL + k.index);
        }
    };
    struct pass { ///< what one change has led to
        std::vector<placed_run> placed;
        std::deque<loaded_node*> room; ///< nodes on which somebody may start now
        std::vector<age> new_heads;
    };

    [[nodiscard]] bool could_ever(const run_needs& needs, const loaded_node& node) const;
    [[nodiscard]] bool may(const run_needs& needs, age since, const loaded_node& node) const;
    [[nodiscard]] bool shuns(const run_needs& needs, const loaded_node& node) const;
    void reserve(run_key run, loaded_node& node, const resources& wanted, pass& p);
    void leave_line(line& from, age who, pass& p);
    void keep_no_more(line& whose, pass& p);
    void fill(loaded_node& node, pass& p);
    void keep_for_oldest(loaded_node& node);
    void keep_some_node(line& whose);
    [[nodiscard]] std::vector<placed_run> settle(pass p);
    void note_change(loaded_node* node, pass& p);

    node_loads nodes_;
    std::map<run_needs, line, needs_order> lines_;
    std::map<age, line*> heads_;        ///< the first of each line
    std::map<age, line*> without_node_; ///< heads that no node is kept for
    std::unordered_map<run_key, reservation, key_hash> placed_;
    std::unordered_map<run_key, place_in_line, key_hash> waiting_;
    age last_age_ = 0;
};

} // namespace chalk::actors
