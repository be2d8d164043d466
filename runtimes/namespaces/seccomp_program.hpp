/// The system calls that nothing in a sandbox may make, as a program for the kernel. Made once per chalk.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"

namespace chalk::namespaces {

/// A sealed memfd that holds struct sock_filter records. Denies what reaches for the host's kernel or out of the
/// namespaces (mount, setns, unshare, bpf, ptrace, keyrings, io_uring, userfaultfd, new user namespaces, vsock, ...);
/// allows the rest. docs/reference/runtimes.md has the list.
[[nodiscard]] result<unique_fd> make_seccomp_program();

} // namespace chalk::namespaces
