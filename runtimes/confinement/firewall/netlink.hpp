/// Hands a prepared batch to the kernel's netfilter. Shared with chalk-nest, which applies what the host prepared: free
/// of exceptions and of every library but the standard one.
#pragma once

#include <string_view>

namespace chalk::firewall {

/// Sends `batch` (nft_batch, whose last message asks for an answer) in the calling thread's network namespace, for
/// which it needs CAP_NET_ADMIN, and waits for the kernel's word. 0: all of it is in force; else an error number, and
/// none of it is (a batch is one transaction).
[[nodiscard]] int send_batch(std::string_view batch) noexcept;

} // namespace chalk::firewall
