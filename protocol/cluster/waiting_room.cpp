#include "protocol/cluster/waiting_room.hpp"

namespace chalk::cluster {

waiting_room::entry waiting_room::enter(const boost::asio::ip::address& source) {
    entry made{ticket{++last_}, std::nullopt};
    sources_.emplace(made.mine, source);
    waiting_[source].insert(made.mine);
    if (sources_.size() > places_) {
        made.put_out = next_out();
        leave(*made.put_out);
    }
    return made;
}

void waiting_room::leave(ticket who) {
    const auto found = sources_.find(who);
    if (found == sources_.end()) {
        return;
    }
    const auto from = waiting_.find(found->second);
    from->second.erase(who);
    if (from->second.empty()) {
        waiting_.erase(from);
    }
    sources_.erase(found);
}

/// The room is small: it is looked through.
waiting_room::ticket waiting_room::next_out() const {
    const std::set<ticket>* most = nullptr;
    for (const auto& [source, tickets] : waiting_) {
        if (most == nullptr || tickets.size() > most->size() ||
            (tickets.size() == most->size() && *tickets.begin() < *most->begin())) {
            most = &tickets;
        }
    }
    return *most->begin();
}

} // namespace chalk::cluster
