/// chalk-nest's loop: one process per chalk that has sandboxes, started by it, gone with it. It exists because clone
/// costs by the cloner's memory: from chalk itself a sandbox would cost three times as much (docs/adr).
///
/// When its owner is gone it kills every sandbox, removes their cgroups and folders and ends; when it is killed itself,
/// the kernel kills the sandboxes' first processes (PR_SET_PDEATHSIG) and with them everything inside.
#pragma once

namespace chalk::nest {

/// `owner` is the socket to the owner. Returns the process's exit code.
int run_nest(int owner);

} // namespace chalk::nest
