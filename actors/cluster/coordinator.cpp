#include "actors/cluster/coordinator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace chalk::actors {

coordinator::coordinator(coordinator_rules rules, lease_book book, result_fence fence)
    : rules_(std::move(rules)), book_(std::move(book)), members_(rules_.version), placement_(rules_.slack),
      fence_(std::move(fence)) {}

result<coordinator> coordinator::open(coordinator_rules rules, const std::vector<lease>& leases,
                                      const std::vector<adopted_run>& adopted, coordinator_time now) {
    auto book = lease_book::open(rules.terms, rules.epoch, leases, now);
    if (!book) {
        return book.error();
    }
    std::vector<assignment_name> names;
    names.reserve(adopted.size());
    for (const auto& one : adopted) {
        names.push_back(one.name);
    }
    auto fence = result_fence::open(rules.epoch, names);
    if (!fence) {
        return fence.error();
    }
    coordinator made(std::move(rules), std::move(*book), std::move(*fence));
    for (const auto& one : leases) {
        made.members_.remember(one.node, one.number);
        // Placed by what it offers when it comes back; nothing new goes there before.
        static_cast<void>(made.placement_.put_node(one.node, {}, member_state::suspect));
    }
    for (const auto& one : adopted) {
        if (!made.placement_.adopt(one.name.run, one.node, one.needs.wanted)) {
            return harness_failure(fmt::format("the journal has a run on node {}, which has no lease", one.node.str()));
        }
        made.lost_.lost_before(one.name.run, one.losses);
        static_cast<void>(made.lost_.sent(one.name.run, one.node));
        made.out_.emplace(one.name.run, out_run{one.name, one.node, true});
    }
    return made;
}

// Nodes.

quarantine& coordinator::quarantine_of(const node_id& node) {
    return quarantines_.try_emplace(node, rules_.quarantines).first->second;
}

result<membership::entry> coordinator::hello(const node_id& node, node_offer offer, std::optional<lease_number> holds,
                                             coordinator_time now) {
    // A lease that has ended by now is ended first: its node is not to go on under it.
    tick(now);
    auto how = members_.join(node, offer, holds);
    if (!how) {
        return how;
    }
    // Its answer to a probe went with the link that was before.
    quarantine_of(node).probe_ended(false, steady(now));
    if (*how == membership::entry::anew) {
        auto its = book_.grant(node);
        if (!its) {
            members_.turn_away(node);
            return its.error();
        }
        linked_.insert(node);
        members_.set_quarantined(node, quarantine_of(node).active());
        decisions_.emplace_back(decision::write_grant{*its});
        return how;
    }
    if (auto on = book_.renew(node, *holds, now); !on) {
        return on.error();
    }
    linked_.insert(node);
    assign(placement_.put_node(node, offer, *members_.state(node)));
    return how;
}

void coordinator::granted(const lease& what, coordinator_time now) {
    if (!book_.held(what.node, what.number, now)) {
        return;
    }
    static_cast<void>(members_.joined(what.node, what.number));
    if (!linked(what.node)) {
        gave_up(what.node, what.number); // it has gone before it was told: nothing runs there
        return;
    }
    decisions_.emplace_back(decision::welcome{what});
    if (const node_offer* offer = members_.offer(what.node)) {
        assign(placement_.put_node(what.node, *offer, *members_.state(what.node)));
    }
}

void coordinator::grant_failed(const lease& what) {
    if (const auto present = book_.of(what.node); !present || present->number != what.number) {
        return; // it has gone meanwhile, and may be back under another one
    }
    book_.withdraw(what.node, what.number);
    members_.turn_away(what.node);
    linked_.erase(what.node);
}

result<lease> coordinator::renew(const node_id& node, lease_number number, coordinator_time now) {
    tick(now);
    auto its = book_.renew(node, number, now);
    if (its && linked(node)) {
        members_.heard(node);
        update_state(node);
    }
    return its;
}

void coordinator::gave_up(const node_id& node, lease_number number) {
    if (const auto ended = book_.give_up(node, number)) {
        lose(*ended, fmt::format("node {} has given its lease up", node.str()));
    }
}

void coordinator::link_lost(const node_id& node) {
    if (linked_.erase(node) > 0) {
        members_.silent(node);
        update_state(node);
    }
}

void coordinator::node_has(const node_id& node, const std::set<assignment_name>& running,
                           const std::set<assignment_name>& ended) {
    for (const run_key run : lost_.out_on(node)) {
        const out_run& out = out_.at(run);
        if (out.started && !running.contains(out.name) && !ended.contains(out.name)) {
            decisions_.emplace_back(decision::send_run{out.name, node});
        }
    }
    for (const auto& name : running) {
        const auto out = out_.find(name.run);
        if (out == out_.end() || out->second.name != name || out->second.node != node) {
            decisions_.emplace_back(decision::drop_run{name, node});
        }
    }
}

void coordinator::digest_changed(const node_id& node, const std::string& digest, bool holds) {
    if (holds) {
        members_.now_holds(node, digest);
    } else {
        members_.holds_no_more(node, digest);
    }
    placement_.change_digest(node, digest, holds);
}

void coordinator::probed(const node_id& node, bool passed, coordinator_time now) {
    quarantine& its = quarantine_of(node);
    const bool was_active = its.active();
    its.probe_ended(passed, steady(now));
    if (was_active && !its.active()) {
        in_quarantine_.erase(node);
        members_.set_quarantined(node, false);
        decisions_.emplace_back(
            decision::say{fmt::format("node {} is out of quarantine: its probe passed", node.str())});
        update_state(node);
    }
}

result<void> coordinator::drain(const node_id& node, bool on) {
    if (!members_.state(node)) {
        return config_failure(fmt::format("there is no node {} in this cluster", node.str()));
    }
    members_.drain(node, on);
    update_state(node);
    return {};
}

void coordinator::update_state(const node_id& node) {
    if (const auto state = members_.state(node); state && *state != member_state::lost) {
        assign(placement_.set_state(node, *state));
    }
}

milliseconds coordinator::tick_every() const noexcept {
    return std::clamp(rules_.terms.length / 24, milliseconds(50), milliseconds(1000));
}

void coordinator::tick(coordinator_time now) {
    // First, so that what is lost below is not given to a node of which nothing was heard either.
    for (const auto& node : book_.silent(now)) {
        if (members_.state(node) != member_state::suspect) {
            members_.silent(node);
            update_state(node);
        }
    }
    for (const auto& ended : book_.take_ended(now)) {
        lose(ended, fmt::format("node {} was not heard of until its lease had ended", ended.node.str()));
    }
    for (const auto& node : in_quarantine_) {
        // One that was not told of its lease yet would not hear of a probe.
        if (linked(node) && members_.lease_of(node) && quarantine_of(node).begin_probe(steady(now))) {
            decisions_.emplace_back(decision::probe_node{node});
        }
    }
}

void coordinator::lose(const lease_ended& what, const std::string& why) {
    decisions_.emplace_back(decision::write_end{what});
    if (!members_.lost(what.node, what.number)) {
        members_.turn_away(what.node); // it was never told of that lease: nothing ran there
        linked_.erase(what.node);
        return;
    }
    linked_.erase(what.node);
    const auto lost = lost_.node_lost(what.node);
    if (!lost.empty()) {
        decisions_.emplace_back(decision::say{fmt::format("{}: {} runs are lost with it", why, lost.size())});
    }
    // What of it has a result on its way to the journal is not lost: the journal's answer decides.
    for (const auto& one : lost) {
        const auto out = out_.extract(one.run);
        if (fence_.give_up(out.mapped().name)) {
            decisions_.emplace_back(decision::lose_run{out.mapped().name, what.node});
        }
    }
    assign(placement_.remove_node(what.node));
    let_held_back_in();
}

// Runs.

void coordinator::request(run_key run, attempt_number attempt, run_needs needs) {
    requested_run what{run, attempt, std::move(needs)};
    if (settling_.contains(run)) {
        behind_settling_.insert_or_assign(run, std::move(what));
    } else if (max_runs_ && out_.size() + requested_.size() >= *max_runs_) {
        held_back_.push_back(std::move(what));
    } else {
        ask_placement(std::move(what));
    }
}

void coordinator::ask_placement(requested_run what) {
    const run_key run = what.run;
    what.since = ++last_asked_;
    run_needs needs = what.needs;
    needs.avoid = lost_.avoided(run);
    requested_.emplace(run, std::move(what));
    assign(placement_.request(run, std::move(needs)));
}

void coordinator::assign(const std::vector<placed_run>& placed) {
    for (const auto& one : placed) {
        const auto wanted = requested_.extract(one.run);
        if (!wanted) {
            continue;
        }
        const auto name = fence_.assign(one.run, wanted.mapped().attempt);
        if (!name) {
            // The run has an open assignment: whoever asked for another did so too early, and has not lost the first.
            decisions_.emplace_back(decision::say{name.error().message});
            free_room(one.run);
            continue;
        }
        static_cast<void>(lost_.sent(one.run, one.node));
        out_.emplace(one.run, out_run{*name, one.node, false});
        decisions_.emplace_back(decision::place{*name, one.node});
    }
}

void coordinator::free_room(run_key run) {
    assign(placement_.release(run));
    let_held_back_in();
}

void coordinator::let_held_back_in() {
    while (!held_back_.empty() && (!max_runs_ || out_.size() + requested_.size() < *max_runs_)) {
        auto next = std::move(held_back_.front());
        held_back_.pop_front();
        ask_placement(std::move(next));
    }
}

/// All that wait for room wait for let_held_back_in() again, in their order.
void coordinator::hold_back() {
    std::vector<requested_run> all;
    all.reserve(requested_.size());
    for (auto& [run, one] : std::exchange(requested_, {})) {
        assign(placement_.release(run)); // whoever waited behind it is held back too
        all.push_back(std::move(one));
    }
    std::ranges::sort(all, {}, &requested_run::since);
    held_back_.insert(held_back_.begin(), std::make_move_iterator(all.begin()), std::make_move_iterator(all.end()));
}

void coordinator::started(const assignment_name& name) {
    const auto out = out_.find(name.run);
    if (out != out_.end() && out->second.name == name && !std::exchange(out->second.started, true) &&
        linked(out->second.node)) {
        decisions_.emplace_back(decision::send_run{name, out->second.node});
    }
}

std::vector<std::pair<run_key, attempt_number>> coordinator::withdraw_waiting() {
    std::vector<std::pair<run_key, attempt_number>> out;
    out.reserve(waiting());
    for (const auto& one : std::exchange(held_back_, {})) {
        out.emplace_back(one.run, one.attempt);
    }
    for (const auto& [run, one] : std::exchange(behind_settling_, {})) {
        out.emplace_back(run, one.attempt);
    }
    for (const auto& [run, one] : std::exchange(requested_, {})) {
        assign(placement_.release(run)); // whoever waited behind it is withdrawn too
        out.emplace_back(run, one.attempt);
    }
    return out;
}

bool coordinator::given_back(const assignment_name& name, const node_id& from) {
    const auto out = out_.find(name.run);
    if (out == out_.end() || out->second.name != name || out->second.node != from || !fence_.give_up(name)) {
        return false;
    }
    lost_.returned(name.run, false);
    out_.erase(out);
    free_room(name.run);
    return true;
}

void coordinator::set_max_runs(std::optional<std::size_t> runs) {
    max_runs_ = runs;
    if (max_runs_ && out_.size() + requested_.size() > *max_runs_) {
        hold_back();
    }
    let_held_back_in();
}

result_standing coordinator::result_came(const assignment_name& name, const node_id& from, journalled_name has,
                                         const outcome& how, coordinator_time now) {
    if (const auto its = where(name); its && *its != from) {
        return result_standing::foreign; // it is another node's
    }
    const auto standing = fence_.accept(name, has);
    switch (standing) {
    case result_standing::counts: {
        const bool node_failed = how.kind && speaks_of_node(*how.kind);
        lost_.returned(name.run, node_failed);
        out_.erase(name.run);
        settling_.insert(name.run);
        if (node_failed && quarantine_of(from).error(steady(now))) {
            in_quarantine_.insert(from);
            members_.set_quarantined(from, true);
            decisions_.emplace_back(decision::say{
                fmt::format("node {} is in quarantine: too many runs failed there; nothing new starts on it until its "
                            "probe passes",
                            from.str())});
            update_state(from);
        }
        free_room(name.run);
        break;
    }
    case result_standing::repeated:
        decisions_.emplace_back(decision::release_result{name, from});
        break;
    case result_standing::evidence: // released when it is kept
    case result_standing::under_way:
    case result_standing::foreign:
        break;
    }
    return standing;
}

void coordinator::durable(const assignment_name& name) {
    if (!fence_.durable(name)) {
        return;
    }
    fence_.forget(name); // should the node not hear of it and offer it again, the journal knows
    settling_.erase(name.run);
    if (const auto next = behind_settling_.extract(name.run)) {
        request(name.run, next.mapped().attempt, next.mapped().needs);
    }
}

void coordinator::closed(run_key run) {
    if (!out_.contains(run)) { // else it was taken back and runs again: it may still be lost
        lost_.closed(run);
    }
}

std::optional<node_id> coordinator::where(const assignment_name& name) const {
    const auto out = out_.find(name.run);
    return out != out_.end() && out->second.name == name ? std::optional(out->second.node) : std::nullopt;
}

std::vector<node_view> coordinator::nodes() const {
    std::vector<node_view> all;
    for (const auto& id : members_.nodes()) {
        const node_offer* offer = members_.offer(id);
        all.push_back({id, *members_.state(id), offer != nullptr ? std::optional(*offer) : std::nullopt,
                       lost_.out_on(id).size(), linked(id)});
    }
    return all;
}

} // namespace chalk::actors
