#include "protocol/store/fetch_plan.hpp"

#include <fmt/format.h>

namespace chalk::store {

fetch_plan::fetch_plan(const tree_manifest& tree, const std::function<bool(const chunk_need&)>& is_there,
                       const fetch_limits& limits)
    : limits_(limits) {
    for (const auto& one : tree.chunks()) {
        if (!is_there(one)) {
            add(one);
        }
    }
}

fetch_plan::fetch_plan(const std::vector<chunk_need>& missing, const fetch_limits& limits) : limits_(limits) {
    for (const auto& one : missing) {
        add(one);
    }
}

void fetch_plan::add(const chunk_need& what) {
    if (index_.emplace(what.name, needs_.size()).second) {
        waiting_.insert(needs_.size());
        needs_.push_back({what});
        left_ = left_ + what.size;
    }
}

std::vector<chunk_digest> fetch_plan::next() {
    std::vector<chunk_digest> asked;
    while (!trouble_ && !waiting_.empty() && in_flight_.size() < limits_.in_flight) {
        const auto first = waiting_.begin();
        asked.push_back(needs_[*first].what.name);
        in_flight_.insert(waiting_.extract(first));
    }
    return asked;
}

arrival fetch_plan::arrived(const chunk_digest& name, std::string_view data) {
    const auto found = index_.find(name);
    if (found == index_.end() || in_flight_.erase(found->second) == 0) {
        return arrival::unasked;
    }
    auto& one = needs_[found->second];
    if (data.size() == one.what.size.count && name_chunk(data) == name) {
        left_ = left_ - one.what.size;
        return arrival::wanted;
    }
    waiting_.insert(found->second);
    if (++one.damaged < limits_.tries) {
        return arrival::damaged;
    }
    trouble_ = harness_failure(fmt::format("chunk {} arrived damaged {} times", name.hex(), one.damaged));
    return arrival::given_up;
}

void fetch_plan::refused(const chunk_digest& name, std::string_view why) {
    const auto found = index_.find(name);
    if (found != index_.end() && in_flight_.erase(found->second) != 0) {
        waiting_.insert(found->second);
        trouble_ = harness_failure(fmt::format("chunk {} cannot be had: {}", name.hex(), why));
    }
}

void fetch_plan::connection_lost() {
    waiting_.merge(in_flight_);
    in_flight_.clear();
}

} // namespace chalk::store
