/// Tries to reach addresses as a user, to see what a firewall does and not what it was told. Blocking, for a second or
/// so: never on an actor's thread.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <string>
#include <vector>

#include <sys/types.h>

namespace chalk::firewall {

struct target {
    std::string address; ///< numeric, IPv4 or IPv6
    std::uint16_t port = 0;
    bool udp = false; ///< a question to a name server (RFC 1035) is sent

    [[nodiscard]] std::string str() const; ///< "tcp 192.0.2.1:80", "udp [2001:db8::1]:53"
};

struct attempt {
    target to;
    bool answered = false; ///< connected, refused by the other side, or a datagram came back
    int error = 0;         ///< of the attempt; ETIMEDOUT: nothing came back
};

/// All at once, as `user` (a forked child changes to it; 0 stays), for at most `patience`. In the order asked. A target
/// is "reached" when something came back from there: a refusal is an answer too.
[[nodiscard]] result<std::vector<attempt>> try_to_reach(const std::vector<target>& targets, uid_t user,
                                                        milliseconds patience);

/// Whether this network namespace knows a way there; nothing is sent. Without one, silence proves nothing.
[[nodiscard]] bool has_route(const target& to);

/// What a harness tries: name servers and web servers that are always there, in both families.
[[nodiscard]] const std::vector<target>& outside_targets();

} // namespace chalk::firewall
