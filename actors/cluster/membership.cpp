#include "actors/cluster/membership.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

std::string_view to_string(member_state state) noexcept {
    return member_state_names[static_cast<std::size_t>(state)];
}

member_state membership::state_of(const member& m) noexcept {
    if (m.joining) {
        return member_state::joining;
    }
    if (!m.lease) {
        return member_state::lost;
    }
    if (m.silent) {
        return member_state::suspect;
    }
    if (m.draining) {
        return member_state::draining;
    }
    return m.quarantined ? member_state::quarantined : member_state::ready;
}

const membership::member* membership::find(const node_id& id) const {
    const auto found = members_.find(id);
    return found == members_.end() ? nullptr : &found->second;
}

membership::member* membership::find(const node_id& id) {
    return const_cast<member*>(std::as_const(*this).find(id));
}

void membership::remember(const node_id& id, lease_number its) {
    member& m = members_[id];
    m.lease = its;
    m.silent = true;
}

result<membership::entry> membership::join(const node_id& id, node_offer offer, std::optional<lease_number> holds) {
    if (offer.version != version_) {
        return config_failure(fmt::format("node {} is chalk {}, the coordinator is chalk {}: they must be the same",
                                          id.str(), offer.version, version_));
    }
    member* const known = find(id);
    if (!known || state_of(*known) == member_state::lost) {
        member& m = members_[id];
        m.offer = std::move(offer);
        m.joining = true;
        m.silent = false;
        return entry::anew;
    }
    if (known->joining || holds != known->lease) {
        return config_failure(
            fmt::format("a node {} is alive in this cluster: give this one another name, or wait until "
                        "the lease of that one has ended",
                        id.str()));
    }
    known->offer = std::move(offer);
    known->silent = false;
    return entry::again;
}

bool membership::joined(const node_id& id, lease_number its) {
    member* const m = find(id);
    if (!m || !m->joining) {
        return false;
    }
    m->joining = false;
    m->lease = its;
    return true;
}

void membership::turn_away(const node_id& id) {
    if (member* const m = find(id); m && m->joining) {
        m->joining = false;
        m->offer.reset();
        // A person's or its errors' word on the name stays.
        if (!m->draining && !m->quarantined) {
            members_.erase(id);
        }
    }
}

void membership::silent(const node_id& id) {
    if (member* const m = find(id)) {
        m->silent = true;
    }
}

void membership::heard(const node_id& id) {
    // One that was not let in since a restart stays suspect: nobody knows what it offers.
    if (member* const m = find(id); m && m->offer) {
        m->silent = false;
    }
}

void membership::drain(const node_id& id, bool on) {
    if (member* const m = find(id)) {
        m->draining = on;
    }
}

void membership::set_quarantined(const node_id& id, bool on) {
    if (member* const m = find(id)) {
        m->quarantined = on;
    }
}

bool membership::lost(const node_id& id, lease_number its) {
    member* const m = find(id);
    if (!m || m->lease != its) {
        return false;
    }
    m->lease.reset();
    m->offer.reset();
    return true;
}

bool membership::forget(const node_id& id) {
    const member* const m = find(id);
    return m && state_of(*m) == member_state::lost && members_.erase(id) > 0;
}

void membership::now_holds(const node_id& id, const std::string& digest) {
    if (member* const m = find(id); m && m->offer) {
        m->offer->held.insert(digest);
    }
}

void membership::holds_no_more(const node_id& id, const std::string& digest) {
    if (member* const m = find(id); m && m->offer) {
        m->offer->held.erase(digest);
    }
}

std::optional<member_state> membership::state(const node_id& id) const {
    const member* const m = find(id);
    return m ? std::optional(state_of(*m)) : std::nullopt;
}

std::optional<lease_number> membership::lease_of(const node_id& id) const {
    const member* const m = find(id);
    return m ? m->lease : std::nullopt;
}

const node_offer* membership::offer(const node_id& id) const {
    const member* const m = find(id);
    return m && m->offer ? &*m->offer : nullptr;
}

std::vector<node_id> membership::nodes() const {
    std::vector<node_id> out;
    out.reserve(members_.size());
    for (const auto& [id, m] : members_) {
        out.push_back(id);
    }
    return out;
}

} // namespace chalk::actors
