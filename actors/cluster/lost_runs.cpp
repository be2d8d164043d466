#include "actors/cluster/lost_runs.hpp"

#include <fmt/format.h>

#include <string>
#include <utility>

namespace chalk::actors {

namespace {

std::string message_of_loss(std::uint32_t losses, const std::vector<node_id>& nodes) {
    std::string text = fmt::format("the run's node was lost {} times", losses);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        text += (i == 0 ? ": " : ", ") + nodes[i].str();
    }
    return text;
}

} // namespace

void lost_runs::lost_before(run_key run, std::uint32_t times) {
    runs_[run].losses = times;
}

bool lost_runs::sent(run_key run, const node_id& node) {
    history& h = runs_[run];
    if (h.out_on) {
        return false;
    }
    h.out_on = node;
    by_node_[node].insert(run);
    return true;
}

void lost_runs::take_home(run_key run, history& h) {
    if (!h.out_on) {
        return;
    }
    const auto its = by_node_.find(*h.out_on);
    its->second.erase(run);
    if (its->second.empty()) {
        by_node_.erase(its);
    }
    h.out_on.reset();
}

void lost_runs::returned(run_key run, bool failed) {
    const auto found = runs_.find(run);
    if (found == runs_.end() || !found->second.out_on) {
        return;
    }
    history& h = found->second;
    if (failed) {
        h.avoid.insert(*h.out_on);
    }
    take_home(run, h);
    if (h.losses == 0 && h.avoid.empty()) {
        runs_.erase(found);
    }
}

void lost_runs::closed(run_key run) {
    if (const auto found = runs_.find(run); found != runs_.end()) {
        take_home(run, found->second);
        runs_.erase(found);
    }
}

std::vector<lost_run> lost_runs::node_lost(const node_id& node) {
    const std::set<run_key> its = out_on(node);
    std::vector<lost_run> out;
    out.reserve(its.size());
    for (const run_key& run : its) {
        history& h = runs_.at(run);
        take_home(run, h);
        h.lost_with.push_back(node);
        h.avoid.insert(node);
        lost_run told{run, ++h.losses, std::nullopt};
        if (h.losses >= schedule::max_node_losses) {
            told.how = outcome::error(error_class::node_lost, message_of_loss(h.losses, h.lost_with));
            runs_.erase(run);
        }
        out.push_back(std::move(told));
    }
    return out;
}

std::optional<node_id> lost_runs::where(run_key run) const {
    const auto found = runs_.find(run);
    return found == runs_.end() ? std::nullopt : found->second.out_on;
}

const std::set<run_key>& lost_runs::out_on(const node_id& node) const {
    static const std::set<run_key> none;
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? none : found->second;
}

const std::set<node_id>& lost_runs::avoided(run_key run) const {
    static const std::set<node_id> none;
    const auto found = runs_.find(run);
    return found == runs_.end() ? none : found->second.avoid;
}

} // namespace chalk::actors
