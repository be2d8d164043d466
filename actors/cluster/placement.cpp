#include "actors/cluster/placement.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <utility>

namespace chalk::actors {

namespace {

bool offers_runtime(const node_offer& offer, const run_needs& needs) {
    return needs.runtime.empty() || offer.runtimes.contains(needs.runtime);
}

bool has_labels(const node_offer& offer, const run_needs& needs) {
    return std::ranges::includes(offer.labels, needs.labels);
}

} // namespace

bool placement::needs_order::operator()(const run_needs& a, const run_needs& b) const {
    const auto key = [](const run_needs& n) {
        return std::tie(n.wanted.memory, n.wanted.disk, n.wanted.processes, n.wanted.milli_cpus, n.wanted.open_files,
                        n.runtime, n.labels, n.avoid);
    };
    return key(a) < key(b);
}

bool placement::could_ever(const run_needs& needs, const loaded_node& node) const {
    return fits_beside(needs.wanted, {}, node.offer.capacity) && offers_runtime(node.offer, needs) &&
           has_labels(node.offer, needs);
}

/// A retry is rare, so this looks at all nodes.
bool placement::shuns(const run_needs& needs, const loaded_node& node) const {
    return needs.avoid.contains(node.id) && std::ranges::any_of(nodes_.all(), [&](const auto& entry) {
               const loaded_node& other = *entry.second;
               return (other.state == member_state::ready || other.state == member_state::suspect) &&
                      !needs.avoid.contains(other.id) && could_ever(needs, other);
           });
}

bool placement::may(const run_needs& needs, age since, const loaded_node& node) const {
    return (!node.kept_for || since <= *node.kept_for) && fits_beside(needs.wanted, node.used, node.room) &&
           could_ever(needs, node) && !shuns(needs, node);
}

void placement::reserve(run_key run, loaded_node& node, const resources& wanted, pass& p) {
    nodes_.begin_run(node, wanted);
    placed_.emplace(run, reservation{&node, wanted});
    p.placed.push_back({run, node.id});
}

void placement::keep_no_more(line& whose, pass& p) {
    if (whose.kept) {
        whose.kept->kept_for.reset();
        p.room.push_back(whose.kept);
        whose.kept = nullptr;
    }
}

void placement::leave_line(line& from, age who, pass& p) {
    const auto found = from.runs.find(who);
    const bool was_head = found == from.runs.begin();
    waiting_.erase(found->second.run);
    from.runs.erase(found);
    if (!was_head) {
        return;
    }
    heads_.erase(who);
    without_node_.erase(who);
    keep_no_more(from, p);
    if (from.runs.empty()) {
        lines_.erase(lines_.find(from.needs));
        return;
    }
    const age next = from.runs.begin()->first;
    heads_.emplace(next, &from);
    without_node_.emplace(next, &from);
    p.new_heads.push_back(next);
}

/// Starts on `node` whoever may, in the order in which they came.
void placement::fill(loaded_node& node, pass& p) {
    if (node.state != member_state::ready) {
        return;
    }
    for (auto head = heads_.begin(); head != heads_.end();) {
        const auto [since, l] = *head;
        if (node.kept_for && since > *node.kept_for) {
            return;
        }
        if (!may(l->needs, since, node)) {
            ++head;
            continue;
        }
        reserve(l->runs.begin()->second.run, node, l->needs.wanted, p);
        leave_line(*l, since, p);
        head = heads_.upper_bound(since); // those before could not start when there was more room
    }
}

void placement::keep_for_oldest(loaded_node& node) {
    if (node.kept_for || node.state != member_state::ready) {
        return;
    }
    for (const auto& [since, l] : without_node_) {
        if (could_ever(l->needs, node) && !shuns(l->needs, node)) {
            l->kept = &node;
            node.kept_for = since;
            without_node_.erase(*node.kept_for);
            return;
        }
    }
}

void placement::keep_some_node(line& whose) {
    for (const load_rank& r : nodes_.ready()) {
        loaded_node& node = *r.node;
        if (!node.kept_for && could_ever(whose.needs, node) && !shuns(whose.needs, node)) {
            whose.kept = &node;
            node.kept_for = whose.runs.begin()->first;
            without_node_.erase(*node.kept_for);
            return;
        }
    }
}

/// A head that has left may free the node that was kept for it, and so on until nobody else may start.
std::vector<placed_run> placement::settle(pass p) {
    while (!p.room.empty()) {
        loaded_node& node = *p.room.front();
        p.room.pop_front();
        fill(node, p);
        keep_for_oldest(node);
    }
    for (const age head : p.new_heads) {
        if (const auto found = without_node_.find(head); found != without_node_.end()) {
            keep_some_node(*found->second);
        }
    }
    return std::move(p.placed);
}

/// `node` may take more, or less, than before; null: one is gone.
void placement::note_change(loaded_node* node, pass& p) {
    if (node) {
        p.room.push_back(node);
    }
    // Whom a run has to avoid depends on who else there is.
    bool some_avoid = false;
    for (const auto& [since, l] : heads_) {
        some_avoid = some_avoid || !l->needs.avoid.empty();
        if (l->kept && shuns(l->needs, *l->kept)) {
            keep_no_more(*l, p);
            without_node_.emplace(since, l);
            p.new_heads.push_back(since);
        }
    }
    if (some_avoid) {
        for (const load_rank& r : nodes_.ready()) {
            p.room.push_back(r.node);
        }
    }
}

std::vector<placed_run> placement::put_node(const node_id& id, const node_offer& offer, member_state state) {
    pass p;
    loaded_node& node = nodes_.put(id, offer, state);
    if (node.kept_for) { // for one that it may not be able to take any more
        const age whose = *node.kept_for;
        keep_no_more(*heads_.at(whose), p);
        without_node_.emplace(whose, heads_.at(whose));
        p.new_heads.push_back(whose);
    }
    note_change(&node, p);
    return settle(std::move(p));
}

std::vector<placed_run> placement::set_state(const node_id& id, member_state state) {
    const loaded_node* const node = nodes_.find(id);
    if (!node || node->state == state) {
        return {};
    }
    const node_offer same = node->offer;
    return put_node(id, same, state);
}

std::vector<placed_run> placement::remove_node(const node_id& id) {
    loaded_node* const node = nodes_.find(id);
    if (!node) {
        return {};
    }
    pass p;
    std::erase_if(placed_, [node](const auto& entry) { return entry.second.node == node; });
    if (node->kept_for) {
        const age whose = *node->kept_for;
        heads_.at(whose)->kept = nullptr;
        without_node_.emplace(whose, heads_.at(whose));
        p.new_heads.push_back(whose);
    }
    nodes_.remove(id);
    note_change(nullptr, p);
    return settle(std::move(p));
}

void placement::change_digest(const node_id& id, const std::string& digest, bool holds) {
    if (loaded_node* const node = nodes_.find(id)) {
        nodes_.change_digest(*node, digest, holds);
    }
}

std::vector<placed_run> placement::request(run_key run, run_needs needs) {
    pass p;
    if (placed_.contains(run) || waiting_.contains(run)) {
        return {};
    }
    const age since = ++last_age_;
    std::vector<std::string> digests = std::exchange(needs.digests, {});
    auto found = lines_.find(needs);
    if (found == lines_.end()) {
        if (loaded_node* const node =
                nodes_.choose(digests, [&](const loaded_node& n) { return may(needs, since, n); })) {
            reserve(run, *node, needs.wanted, p);
            return std::move(p.placed);
        }
        found = lines_.try_emplace(needs).first;
        found->second.needs = std::move(needs);
        heads_.emplace(since, &found->second);
        without_node_.emplace(since, &found->second);
        p.new_heads.push_back(since);
    }
    line& its = found->second;
    its.runs.emplace(since, waiting_run{run, std::move(digests)});
    waiting_.emplace(run, place_in_line{&its, since});
    return settle(std::move(p));
}

std::vector<placed_run> placement::release(run_key run) {
    pass p;
    if (const auto held = placed_.find(run); held != placed_.end()) {
        nodes_.end_run(*held->second.node, held->second.wanted);
        p.room.push_back(held->second.node);
        placed_.erase(held);
    } else if (const auto waits = waiting_.find(run); waits != waiting_.end()) {
        const place_in_line where = waits->second;
        leave_line(*where.where, where.since, p);
    }
    return settle(std::move(p));
}

bool placement::adopt(run_key run, const node_id& node, const resources& wanted) {
    loaded_node* const its = nodes_.find(node);
    if (!its || placed_.contains(run) || waiting_.contains(run)) {
        return false;
    }
    nodes_.begin_run(*its, wanted);
    placed_.emplace(run, reservation{its, wanted});
    return true;
}

std::optional<std::string> placement::obstacle(const run_needs& needs) const {
    bool runtime = false;
    bool labels = false;
    for (const auto& [id, node] : nodes_.all()) {
        const bool offers = offers_runtime(node->offer, needs);
        const bool labelled = offers && has_labels(node->offer, needs);
        runtime = runtime || offers;
        labels = labels || labelled;
        if (labelled && fits_beside(needs.wanted, {}, node->offer.capacity)) {
            return std::nullopt;
        }
    }
    if (nodes_.all().empty()) {
        return "no node has joined";
    }
    if (!runtime) {
        return fmt::format("no node offers the runtime {}", needs.runtime);
    }
    if (!labels) {
        return fmt::format("no node with its runtime has all of the labels {}", fmt::join(needs.labels, ", "));
    }
    return fmt::format("no node with its runtime and labels is as large as it needs: {} bytes of memory, {} bytes of "
                       "disk, {} processes, {} thousandths of a cpu, {} open files",
                       needs.wanted.memory.count, needs.wanted.disk.count, needs.wanted.processes,
                       needs.wanted.milli_cpus, needs.wanted.open_files);
}

} // namespace chalk::actors
