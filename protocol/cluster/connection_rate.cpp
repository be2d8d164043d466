#include "protocol/cluster/connection_rate.hpp"

#include <algorithm>

namespace chalk::cluster {

namespace ip = boost::asio::ip;

ip::address source_of(const ip::address& address) {
    if (address.is_v4()) {
        return address;
    }
    const auto six = address.to_v6();
    if (six.is_v4_mapped()) {
        return ip::make_address_v4(ip::v4_mapped, six);
    }
    auto digits = six.to_bytes();
    std::fill(digits.begin() + 8, digits.end(), static_cast<unsigned char>(0));
    return ip::address_v6(digits, six.scope_id());
}

connection_rate::bucket& connection_rate::bucket_of(const ip::address& source, time_point now) {
    const auto found = buckets_.find(source);
    if (found != buckets_.end()) {
        by_use_.splice(by_use_.end(), by_use_, found->second.place);
        return found->second;
    }
    if (buckets_.size() >= settings_.most_sources) {
        buckets_.erase(by_use_.front());
        by_use_.pop_front();
    }
    by_use_.push_back(source);
    return buckets_.emplace(source, bucket{settings_.burst, now, std::prev(by_use_.end())}).first->second;
}

bool connection_rate::admit(const ip::address& source, time_point now) {
    auto& mine = bucket_of(source, now);
    if (now > mine.filled_at) {
        const std::chrono::duration<double> passed = now - mine.filled_at;
        mine.tokens = std::min(settings_.burst, mine.tokens + passed.count() * settings_.per_second);
        mine.filled_at = now;
    }
    if (mine.tokens < 1) {
        return false;
    }
    mine.tokens -= 1;
    return true;
}

void connection_rate::give_back(const ip::address& source) {
    const auto found = buckets_.find(source);
    if (found != buckets_.end()) {
        found->second.tokens = std::min(settings_.burst, found->second.tokens + 1);
    }
}

} // namespace chalk::cluster
