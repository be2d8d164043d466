/// For tests: a network namespace of this thread's, and behind a veth a peer in another one that answers on every
/// address of the outside that anything here tries. Needs root and iproute2.
#pragma once

#include "protocol/core/unique_fd.hpp"

#include <functional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace chalk::test {

/// Why there can be no such network; empty when there can.
[[nodiscard]] std::string why_no_network();

/// Listens on all addresses of the calling thread's network namespace, both families; connections are made by the
/// kernel and never accepted.
[[nodiscard]] unique_fd listen_everywhere(std::uint16_t port);

/// Runs `body` in a thread whose network namespace has the peer behind its default routes. What it made goes with it.
/// Failures of `body` are passed on; so are exceptions of the set-up.
void in_network_with_peer(const std::function<void()>& body);

/// The same without peer, veth or route: a loopback that is up and nothing else.
void in_lonely_network(const std::function<void()>& body);

} // namespace chalk::test
