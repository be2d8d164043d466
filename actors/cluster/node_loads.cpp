#include "actors/cluster/node_loads.hpp"

#include <algorithm>

namespace chalk::actors {

void node_loads::take_out(loaded_node& node) {
    ready_.erase(node.rank);
}

void node_loads::put_in(loaded_node& node) {
    node.rank.load = dominant_share(node.used, node.room);
    if (node.state == member_state::ready) {
        ready_.insert(node.rank);
    }
}

loaded_node& node_loads::put(const node_id& id, const node_offer& offer, member_state state) {
    auto& node = nodes_[id];
    if (!node) {
        node = std::make_unique<loaded_node>();
        node->id = id;
        node->rank.number = ++last_number_;
        node->rank.node = node.get();
    }
    take_out(*node);
    for (const auto& digest : node->offer.held) {
        note_no_holder(*node, digest);
    }
    node->offer = offer;
    node->room = enlarged(offer.capacity, slack_);
    node->state = state;
    for (const auto& digest : node->offer.held) {
        note_holder(*node, digest);
    }
    put_in(*node);
    return *node;
}

void node_loads::remove(const node_id& id) {
    if (const auto found = nodes_.find(id); found != nodes_.end()) {
        take_out(*found->second);
        for (const auto& digest : found->second->offer.held) {
            note_no_holder(*found->second, digest);
        }
        nodes_.erase(found);
    }
}

loaded_node* node_loads::find(const node_id& id) {
    const auto found = nodes_.find(id);
    return found == nodes_.end() ? nullptr : found->second.get();
}

void node_loads::change_state(loaded_node& node, member_state state) {
    take_out(node);
    node.state = state;
    put_in(node);
}

void node_loads::begin_run(loaded_node& node, const resources& wanted) {
    take_out(node);
    take_up(node.used, wanted);
    ++node.rank.runs;
    put_in(node);
}

void node_loads::end_run(loaded_node& node, const resources& wanted) {
    take_out(node);
    give_back(node.used, wanted);
    --node.rank.runs;
    put_in(node);
}

void node_loads::note_holder(loaded_node& node, const std::string& digest) {
    holders_[digest].push_back(&node);
}

void node_loads::note_no_holder(loaded_node& node, const std::string& digest) {
    if (const auto its = holders_.find(digest); its != holders_.end()) {
        std::erase(its->second, &node);
        if (its->second.empty()) {
            holders_.erase(its);
        }
    }
}

void node_loads::change_digest(loaded_node& node, const std::string& digest, bool holds) {
    if (holds && node.offer.held.insert(digest).second) {
        note_holder(node, digest);
    } else if (!holds && node.offer.held.erase(digest) > 0) {
        note_no_holder(node, digest);
    }
}

loaded_node* node_loads::choose(const std::vector<std::string>& digests,
                                const std::function<bool(const loaded_node&)>& may) {
    const auto least = std::ranges::find_if(ready_, [&](const load_rank& r) { return may(*r.node); });
    if (least == ready_.end()) {
        return nullptr;
    }
    std::vector<const std::string*> wanted; // without those that nobody holds: they tell no node from another
    bool held_by_many = false;
    for (const std::string& digest : digests) {
        if (const auto its = holders_.find(digest); its != holders_.end()) {
            wanted.push_back(&digest);
            held_by_many = held_by_many || its->second.size() > most_looks;
        }
    }
    const auto cost_of = [&](const loaded_node& node) {
        const auto missing = std::ranges::count_if(
            wanted, [&](const std::string* digest) { return !node.offer.held.contains(*digest); });
        return node.rank.load + worth_of_digest * static_cast<std::uint32_t>(missing);
    };
    loaded_node* best = least->node;
    std::uint32_t best_cost = cost_of(*best);
    const auto look_at = [&](loaded_node& node) {
        if (node.state != member_state::ready || node.rank.load >= best_cost) {
            return;
        }
        if (const auto cost = cost_of(node); cost < best_cost && may(node)) {
            best = &node;
            best_cost = cost;
        }
    };
    std::size_t looks = 0;
    for (auto next = least; held_by_many && next != ready_.end() && looks < most_looks; ++next, ++looks) {
        look_at(*next->node);
    }
    for (const std::string* const digest : wanted) {
        if (const auto& its = holders_.at(*digest); its.size() <= most_looks) {
            for (loaded_node* const node : its) {
                look_at(*node);
            }
        }
    }
    return best;
}

} // namespace chalk::actors
