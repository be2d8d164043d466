/// What the student may reach over the network, as rules in the order in which they are asked. Pure: the back ends
/// (nftables.hpp, iptables.hpp) turn the same rules into what a kernel takes.
///
/// Everything that the student sends is judged, also what the kernel sends for its sockets (answers of a server of its
/// own). Other users' traffic is never looked at. IPv4 and IPv6 have the same rules.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace chalk::firewall {

enum class network_reach {
    local,    ///< localhost and the sandbox's own addresses
    internal, ///< besides, the private ranges; never link-local ones (CHALK_STUDENT_NETWORK=internal)
};

struct policy {
    uid_t student = 1000;
    /// TCP ports that the student reaches nowhere, least of all here: the websocket's, and those of the tool server and
    /// the model gateway unless its agent is a program that needs them.
    std::vector<std::uint16_t> closed_ports;
    network_reach reach = network_reach::local;

    friend bool operator==(const policy&, const policy&) = default;
};

struct ip_network {
    bool v6 = false;
    std::array<std::uint8_t, 16> address{}; ///< IPv4 in the first four
    unsigned prefix = 0;                    ///< bits

    friend bool operator==(const ip_network&, const ip_network&) = default;
};

struct rule {
    enum class verdict {
        accept,
        refuse, ///< with a reset where `tcp_port` is set, else as "administratively prohibited": a student learns at
                ///< once, instead of after its timeout
    };
    std::string_view name; ///< what it is for; unique within one policy but for the ports'
    bool over_loopback = false;
    std::optional<std::uint16_t> tcp_port; ///< destination
    std::optional<ip_network> to;          ///< destination; limits the rule to its family
    verdict what = verdict::refuse;
};

/// All of a policy, the last one for everything that no other took.
[[nodiscard]] std::vector<rule> make_rules(const policy& wanted);

/// A packet as the rules see it.
struct packet {
    bool loopback = false; ///< leaves by the loopback, as all that goes to an own address does
    bool v6 = false;
    std::array<std::uint8_t, 16> to{};
    std::optional<std::uint16_t> tcp_port;
};

/// What the first rule that fits says; accept when none does. The meaning of the rules, for tests of the back ends.
[[nodiscard]] rule::verdict judge(const std::vector<rule>& rules, const packet& what);

/// "local" or "internal" (or empty: local); nullopt for anything else.
[[nodiscard]] std::optional<network_reach> parse_reach(std::string_view text);
/// The word that parse_reach takes for it.
[[nodiscard]] std::string_view to_string(network_reach how_far) noexcept;

/// For people: "user 1000 reaches this sandbox alone, but for ports 7000 and 7001".
[[nodiscard]] std::string describe(const policy& wanted);

} // namespace chalk::firewall
