#include "runtimes/confinement/firewall/rules.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::firewall {

namespace {

using verdict = rule::verdict;

constexpr ip_network v4(std::uint8_t a, std::uint8_t b, unsigned prefix) {
    return {false, {a, b}, prefix};
}

constexpr ip_network v6(std::uint8_t a, std::uint8_t b, unsigned prefix) {
    return {true, {a, b}, prefix};
}

bool holds(const ip_network& network, const packet& what) {
    if (network.v6 != what.v6) {
        return false;
    }
    unsigned left = network.prefix;
    for (std::size_t i = 0; left > 0; ++i) {
        const unsigned bits = std::min(left, 8U);
        const auto mask = static_cast<std::uint8_t>(0xFFU << (8U - bits));
        if ((network.address[i] & mask) != (what.to[i] & mask)) {
            return false;
        }
        left -= bits;
    }
    return true;
}

} // namespace

std::vector<rule> make_rules(const policy& wanted) {
    std::vector<rule> rules;
    for (const std::uint16_t port : wanted.closed_ports) {
        // Not over the loopback alone: a port that is published on the machine outside leads back in.
        rules.push_back({"closed port", false, port, std::nullopt, verdict::refuse});
    }
    rules.push_back({"own addresses", true, std::nullopt, std::nullopt, verdict::accept});
    if (wanted.reach == network_reach::internal) {
        for (const auto& network : {v4(10, 0, 8), v4(172, 16, 12), v4(192, 168, 16), v6(0xFC, 0, 7)}) {
            rules.push_back({network.v6 ? "private IPv6" : "private IPv4", false, std::nullopt, network,
                             verdict::accept}); // link-local ones are in none of them
        }
    }
    rules.push_back({"everything else", false, std::nullopt, std::nullopt, verdict::refuse});
    return rules;
}

verdict judge(const std::vector<rule>& rules, const packet& what) {
    for (const rule& one : rules) {
        if ((!one.over_loopback || what.loopback) && (!one.tcp_port || one.tcp_port == what.tcp_port) &&
            (!one.to || holds(*one.to, what))) {
            return one.what;
        }
    }
    return verdict::accept;
}

std::optional<network_reach> parse_reach(std::string_view text) {
    if (text.empty() || text == "local") {
        return network_reach::local;
    }
    return text == "internal" ? std::optional(network_reach::internal) : std::nullopt;
}

std::string_view to_string(network_reach how_far) noexcept {
    return how_far == network_reach::internal ? "internal" : "local";
}

std::string describe(const policy& wanted) {
    auto text = fmt::format("user {} reaches this sandbox's own addresses{}", wanted.student,
                            wanted.reach == network_reach::internal ? " and private networks" : " alone");
    if (!wanted.closed_ports.empty()) {
        text += fmt::format(", but for TCP ports {}", fmt::join(wanted.closed_ports, ", "));
    }
    return text;
}

} // namespace chalk::firewall
