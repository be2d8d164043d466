/// Placement against a plain model of itself: random runs, nodes and losses, and what must hold after each of them.
#include "actors/cluster/placement.hpp"
#include "tests/support/catch.hpp"

#include <random>

using namespace chalk;
using namespace chalk::actors;

namespace {

class random_cluster {
  public:
    explicit random_cluster(std::uint32_t seed) : dice_(seed) {}

    /// What is wrong now; empty: nothing.
    std::string step() {
        const auto action = roll(100);
        if (action < 45) {
            const run_key run{0, next_run_++};
            const auto needs = some_needs();
            waits_.emplace(run, needs);
            return take(p_.request(run, needs));
        }
        if (action < 85) {
            return end_some_run();
        }
        const std::string name = "n" + std::to_string(roll(8));
        const auto id = node_id::parse(name).value();
        if (action < 90) {
            // What it holds of runs stays reserved, whatever it offers now.
            auto& node = nodes_[id];
            node.offer = some_offer();
            node.state = member_state::ready;
            return take(p_.put_node(id, node.offer, node.state));
        }
        const auto found = nodes_.find(id);
        if (found == nodes_.end()) {
            return {};
        }
        if (action < 97) {
            found->second.state = roll(3) == 0 ? static_cast<member_state>(1 + roll(4)) : member_state::ready;
            return take(p_.set_state(id, found->second.state));
        }
        std::erase_if(out_, [&](const auto& entry) { return entry.second.node == id; });
        nodes_.erase(found);
        return take(p_.remove_node(id));
    }

    /// All nodes are ready and as large as any run needs: everything that waits must come to its end.
    std::string drain() {
        for (int i = 0; i < 8; ++i) {
            const auto id = node_id::parse("n" + std::to_string(i)).value();
            auto& node = nodes_[id];
            node.offer = some_offer();
            node.offer.capacity = size(8);
            node.offer.labels = {"x", "y"};
            node.state = member_state::ready;
            if (auto wrong = take(p_.put_node(id, node.offer, node.state)); !wrong.empty()) {
                return wrong;
            }
        }
        while (!out_.empty()) {
            if (auto wrong = end_some_run(); !wrong.empty()) {
                return wrong;
            }
        }
        return waits_.empty() && p_.waiting() == 0 && p_.placed() == 0 ? "" : "a run waits for ever";
    }

    [[nodiscard]] const std::vector<placed_run>& history() const { return history_; }

  private:
    struct model_node {
        node_offer offer;
        member_state state = member_state::ready;
    };
    struct model_run {
        node_id node;
        run_needs needs;
    };

    unsigned roll(unsigned sides) { return std::uniform_int_distribution<unsigned>(0, sides - 1)(dice_); }

    static resources size(std::uint32_t eighths) { return {bytes{eighths}, bytes{eighths}, eighths, eighths, eighths}; }

    run_needs some_needs() {
        run_needs n;
        n.wanted = size(roll(5) == 0 ? 8 : 1 + roll(3));
        n.wanted.disk = bytes{1 + roll(8)};
        if (roll(4) == 0) {
            n.labels.insert(roll(2) == 0 ? "x" : "y");
        }
        if (roll(8) == 0) {
            n.avoid.insert(node_id::parse("n" + std::to_string(roll(8))).value());
        }
        if (roll(2) == 0) {
            n.digests = {"d" + std::to_string(roll(40)), "e"};
        }
        return n;
    }

    node_offer some_offer() {
        node_offer o{"1", size(roll(4) == 0 ? 4 : 8), {"namespaces"}, {}, {"d" + std::to_string(roll(40))}};
        if (roll(2) == 0) {
            o.labels.insert("x");
        }
        if (roll(2) == 0) {
            o.labels.insert("y");
        }
        return o;
    }

    std::string end_some_run() {
        if (out_.empty()) {
            return {};
        }
        const auto which = std::next(out_.begin(), roll(static_cast<unsigned>(out_.size())));
        const run_key run = which->first;
        out_.erase(which);
        return take(p_.release(run));
    }

    [[nodiscard]] resources used_on(const node_id& id) const {
        resources used;
        for (const auto& [run, what] : out_) {
            if (what.node == id) {
                take_up(used, what.needs.wanted);
            }
        }
        return used;
    }

    [[nodiscard]] static bool suits(const run_needs& n, const node_offer& o) {
        return fits_beside(n.wanted, {}, o.capacity) && std::ranges::includes(o.labels, n.labels);
    }

    [[nodiscard]] bool must_avoid(const run_needs& n, const node_id& id) const {
        return n.avoid.contains(id) && std::ranges::any_of(nodes_, [&](const auto& other) {
                   const auto& [name, node] = other;
                   return (node.state == member_state::ready || node.state == member_state::suspect) &&
                          !n.avoid.contains(name) && suits(n, node.offer);
               });
    }

    [[nodiscard]] bool could_start(const run_needs& n, const node_id& id) const {
        const auto& node = nodes_.at(id);
        return node.state == member_state::ready && suits(n, node.offer) && !must_avoid(n, id) &&
               fits_beside(n.wanted, used_on(id), node.offer.capacity);
    }

    std::string take(const std::vector<placed_run>& placed) {
        for (const auto& one : placed) {
            history_.push_back(one);
            const auto waited = waits_.find(one.run);
            if (waited == waits_.end() || !nodes_.contains(one.node)) {
                return "placed what does not wait, or nowhere";
            }
            if (!could_start(waited->second, one.node)) {
                return "placed on a node that may not take it";
            }
            out_.emplace(one.run, model_run{one.node, waited->second});
            waits_.erase(waited);
        }
        if (p_.waiting() != waits_.size() || p_.placed() != out_.size()) {
            return "the counts are wrong";
        }
        // Nothing can hold up the one that has waited longest but a lack of room.
        if (!waits_.empty()) {
            for (const auto& [id, node] : nodes_) {
                if (could_start(waits_.begin()->second, id)) {
                    return "the oldest waits although it could start";
                }
            }
        }
        return {};
    }

    std::mt19937 dice_;
    placement p_;
    std::uint64_t next_run_ = 0;
    std::map<node_id, model_node> nodes_;
    std::map<run_key, run_needs> waits_; ///< runs are numbered in the order in which they came
    std::map<run_key, model_run> out_;
    std::vector<placed_run> history_;
};

} // namespace

TEST_CASE(
    "whatever comes and goes, runs are placed where they fit, the oldest is never held up, and none is forgotten") {
    std::size_t placed = 0;
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        CAPTURE(seed);
        random_cluster cluster(seed);
        std::string wrong;
        for (int i = 0; i < 500 && wrong.empty(); ++i) {
            wrong = cluster.step();
        }
        REQUIRE(wrong.empty());
        wrong = cluster.drain();
        REQUIRE(wrong.empty());
        placed += cluster.history().size();
    }
    CHECK(placed > 5'000);
}

TEST_CASE("the same questions give the same places") {
    const auto run = [] {
        random_cluster cluster(77);
        for (int i = 0; i < 500; ++i) {
            static_cast<void>(cluster.step());
        }
        return cluster.history();
    };
    CHECK(run() == run());
}
