#include "actors/cluster/lease_book.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

result<lease_book> lease_book::open(const lease_terms& terms, std::uint64_t epoch, const std::vector<lease>& journalled,
                                    coordinator_time now) {
    lease_book book(terms, epoch);
    for (const lease& known : journalled) {
        if (known.number.epoch >= epoch) {
            return harness_failure(fmt::format("the journal has a lease of epoch {} for node {}, this coordinator is "
                                               "epoch {}",
                                               known.number.epoch, known.node.str(), epoch));
        }
        const auto [at, fresh] = book.by_node_.emplace(known.node, entry{known, std::nullopt, std::nullopt});
        if (!fresh) {
            return harness_failure(fmt::format("the journal has two leases for node {}", known.node.str()));
        }
        book.count_from(at->second, now);
    }
    return book;
}

void lease_book::count_from(entry& e, coordinator_time now) {
    const auto move = [&](timed& index, std::optional<coordinator_time>& from, coordinator_time to) {
        if (from) {
            index.erase({*from, e.what.node});
        }
        from = std::max(from.value_or(to), to); // an end never comes nearer
        index.emplace(*from, e.what.node);
    };
    move(by_end_, e.ends, now + terms_.sure_wait(e.what.length));
    move(by_silence_, e.silent, now + lease_terms::suspect_after(e.what.length));
}

lease_book::entry* lease_book::find(const node_id& node, lease_number number) {
    const auto found = by_node_.find(node);
    return found == by_node_.end() || found->second.what.number != number ? nullptr : &found->second;
}

lease_ended lease_book::drop(entries::iterator which) {
    const entry& e = which->second;
    lease_ended record{e.what.node, e.what.number};
    if (e.ends) {
        by_end_.erase({*e.ends, e.what.node});
        by_silence_.erase({*e.silent, e.what.node});
    }
    by_node_.erase(which);
    return record;
}

result<lease> lease_book::grant(const node_id& node) {
    if (by_node_.contains(node)) {
        return config_failure(fmt::format("node {} holds a lease that has not ended", node.str()));
    }
    lease made{node, numbers_.next(), terms_.length};
    by_node_.emplace(node, entry{made, std::nullopt, std::nullopt});
    return made;
}

bool lease_book::held(const node_id& node, lease_number number, coordinator_time now) {
    entry* const e = find(node, number);
    if (!e || e->ends) {
        return false;
    }
    count_from(*e, now);
    return true;
}

void lease_book::withdraw(const node_id& node, lease_number number) {
    if (const entry* const e = find(node, number); e && !e->ends) {
        by_node_.erase(node);
    }
}

result<lease> lease_book::renew(const node_id& node, lease_number number, coordinator_time now) {
    entry* const e = find(node, number);
    if (!e || !e->ends) {
        return failure{error_class::node_lost,
                       fmt::format("node {} does not hold lease {}.{}: it has ended; stop what runs under it and join "
                                   "anew",
                                   node.str(), number.epoch, number.count)};
    }
    count_from(*e, now);
    return e->what;
}

std::optional<lease_ended> lease_book::give_up(const node_id& node, lease_number number) {
    return find(node, number) ? std::optional(drop(by_node_.find(node))) : std::nullopt;
}

std::vector<lease_ended> lease_book::take_ended(coordinator_time now) {
    std::vector<lease_ended> ended;
    while (!by_end_.empty() && by_end_.begin()->first <= now) {
        ended.push_back(drop(by_node_.find(by_end_.begin()->second)));
    }
    return ended;
}

std::optional<coordinator_time> lease_book::next_end() const {
    return by_end_.empty() ? std::nullopt : std::optional(by_end_.begin()->first);
}

std::vector<node_id> lease_book::silent(coordinator_time now) const {
    std::vector<node_id> out;
    for (auto s = by_silence_.begin(); s != by_silence_.end() && s->first <= now; ++s) {
        out.push_back(s->second);
    }
    return out;
}

std::optional<lease> lease_book::of(const node_id& node) const {
    const auto found = by_node_.find(node);
    return found == by_node_.end() ? std::nullopt : std::optional(found->second.what);
}

} // namespace chalk::actors
