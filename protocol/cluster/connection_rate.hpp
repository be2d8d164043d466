/// How often an address may connect: a token bucket a source. Pure: time is passed in.
///
/// A connection that authenticates gives its token back, so that many nodes behind one address are not slowed down;
/// what is left to pay are the connections of those who do not belong.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <chrono>
#include <cstddef>
#include <list>
#include <map>

namespace chalk::cluster {

struct connection_rate_settings {
    double per_second = 16;
    double burst = 64;
    /// Sources that are remembered; beyond it the one that has not come for longest is forgotten.
    std::size_t most_sources = 4096;
};

/// Whom an address stands for: itself for IPv4 (also where it is mapped into IPv6), its network of 64 bits for IPv6,
/// since that is what one machine is given.
[[nodiscard]] boost::asio::ip::address source_of(const boost::asio::ip::address& address);

class connection_rate {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit connection_rate(const connection_rate_settings& settings) : settings_(settings) {}

    /// Takes a token of `source` (source_of). False: it has none left.
    [[nodiscard]] bool admit(const boost::asio::ip::address& source, time_point now);
    void give_back(const boost::asio::ip::address& source);

    [[nodiscard]] std::size_t sources() const noexcept { return buckets_.size(); }

  private:
    struct bucket {
        double tokens = 0;
        time_point filled_at;
        std::list<boost::asio::ip::address>::iterator place; ///< in by_use_
    };
    bucket& bucket_of(const boost::asio::ip::address& source, time_point now);

    connection_rate_settings settings_;
    std::map<boost::asio::ip::address, bucket> buckets_;
    std::list<boost::asio::ip::address> by_use_; ///< the one that came last is last
};

} // namespace chalk::cluster
