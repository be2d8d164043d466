/// The helper that makes sandboxes: one process per chalk that has any, started by it, gone with it. It exists because
/// clone costs by the cloner's memory: from a chalk at work a sandbox would cost three times as much (docs/adr).
///
/// When its owner is gone it kills every sandbox, removes their cgroups and folders and ends; when it is killed itself,
/// the kernel kills the sandboxes' first processes (PR_SET_PDEATHSIG) and with them everything inside.
#pragma once

#include "runtimes/namespaces/nest/copy.hpp"

namespace chalk::nest {

/// `owner` is the socket to the owner. With `harness`, sandboxes may have copies of this process as harnesses. Returns
/// the process's exit code. No other thread may run.
int run_nest(int owner, harness_entry harness);

} // namespace chalk::nest
