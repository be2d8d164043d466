/// The connections that have not authenticated: how many there may be, and which one goes when another comes. Pure.
///
/// A full room lets the newcomer in and puts out the oldest of the source that has the most. To refuse newcomers
/// instead would let as many silent connections as the room has places keep everybody out for a whole deadline. As it
/// is, an honest peer is never put out for a source that has more than it has; where each connection comes from a
/// source of its own, it stays until as many newer ones came as the room has places, and it needs only milliseconds.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <set>

namespace chalk::cluster {

class waiting_room {
  public:
    enum class ticket : std::uint64_t {};
    struct entry {
        ticket mine{};
        std::optional<ticket> put_out; ///< has left already: its `leave` is not needed, nor harmful
    };

    /// `places`: at least 1.
    explicit waiting_room(std::size_t places) : places_(places) {}

    [[nodiscard]] entry enter(const boost::asio::ip::address& source);
    void leave(ticket who);

    [[nodiscard]] std::size_t size() const noexcept { return sources_.size(); }

  private:
    [[nodiscard]] ticket next_out() const;

    std::size_t places_;
    std::uint64_t last_ = 0;
    std::map<ticket, boost::asio::ip::address> sources_; ///< older ones first
    std::map<boost::asio::ip::address, std::set<ticket>> waiting_;
};

} // namespace chalk::cluster
