#include "protocol/gateway/key_filter.hpp"

#include <algorithm>
#include <utility>

namespace chalk::gateway {

std::string key_filter::pass(std::string_view piece) {
    if (key_.size() < shortest_key) {
        return std::string(piece);
    }
    const auto all = std::exchange(held_, {}) + std::string(piece);
    std::string out;
    std::size_t at = 0;
    for (auto found = all.find(key_); found != std::string::npos; found = all.find(key_, at)) {
        out.append(all, at, found - at);
        out += placeholder;
        at = found + key_.size();
    }
    const auto left = std::string_view(all).substr(at);
    auto kept = std::min(left.size(), key_.size() - 1);
    while (!key_.starts_with(left.substr(left.size() - kept))) {
        --kept; // ends at none, with which everything starts
    }
    out += left.substr(0, left.size() - kept);
    held_ = left.substr(left.size() - kept);
    return out;
}

std::string key_filter::rest() {
    return std::exchange(held_, {});
}

std::string key_filter::clean(std::string_view whole) const {
    key_filter once(key_);
    auto out = once.pass(whole);
    return out + once.rest();
}

} // namespace chalk::gateway
