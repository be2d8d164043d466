/// The one seam between chalk and whatever runs a sandbox: namespaces here, container engines, VMs and services later.
/// A runtime is blocking and thread-safe; the node actor calls it on its bounded pool. A sandbox belongs to one run
/// actor, carries its owner's name, and dies when its owner dies.
#pragma once

#include "protocol/core/boot_time.hpp"
#include "protocol/core/ids.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/core/units.hpp"
#include "protocol/host_channel/messages.hpp"
#include "runtimes/confinement/firewall/rules.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk {

/// What a sandbox may use, and below it the student.
struct sandbox_limits {
    bytes memory = 4_GiB;
    bytes student_memory = 3_GiB; ///< memory less 1 GiB
    bytes disk = 2_GiB;           ///< all that is written inside, tmpfs or image
    bytes student_disk = 1_GiB;   ///< what the student can write: /workdir, /tmp, /var/tmp, /dev/shm
    std::uint32_t processes = 2048;
    std::uint32_t student_processes = 1024;

    friend bool operator==(const sandbox_limits&, const sandbox_limits&) = default;
};

/// An environment as it lies in a folder of the host.
struct environment_source {
    std::filesystem::path folder;
    std::string digest;                      ///< sha256:<hex> over names, modes and contents
    std::vector<std::filesystem::path> mask; ///< [tool.chalk] mask: host paths that must not be visible inside
};

/// A file or folder of the host that is shown inside, read-only.
struct read_only_mount {
    std::filesystem::path source; ///< absolute
    std::filesystem::path target; ///< absolute; missing folders on the way are made
};

struct sandbox_request {
    run_id id;
    environment_source environment;
    sandbox_limits limits;
    std::filesystem::path out_folder; ///< of the host; mounted at /out; exists; empty for a throwaway sandbox
    /// What the student may reach; the runtime fills in who that is. Absent: no student will run (a look at the tasks).
    std::optional<firewall::policy> student_network;
    /// Of the host: holds the run's model socket. Shown at sandbox_layout::gateway, for root alone; empty: none.
    std::filesystem::path gateway_folder;
    std::optional<std::filesystem::path> rootfs; ///< a folder or tar instead of the host's own /usr
    std::vector<read_only_mount> mounts;
    bool keep = false; ///< leave the sandbox's files behind when it ends and say where
};

/// How a sandbox ended.
struct sandbox_exit {
    int code = 0;                  ///< the harness's exit code
    int signal = 0;                ///< or the signal that ended it
    bool memory_exhausted = false; ///< the kernel killed for memory somewhere inside
    std::string last_words;        ///< the end of the harness's stderr, at most 4 KiB
};

class sandbox {
  public:
    sandbox() = default;
    sandbox(const sandbox&) = delete;
    sandbox& operator=(const sandbox&) = delete;
    /// Kills what still runs and removes what is left.
    virtual ~sandbox() = default;

    /// Our end of the stream socket whose other end is the harness's descriptor 3 (docs/protocols/host-channel.md).
    /// Once.
    [[nodiscard]] virtual unique_fd take_host_channel() = 0;

    /// How the harness finds the student and its limits: goes into its Start message.
    [[nodiscard]] virtual host_channel::student_description student() const = 0;

    /// `done` runs once on `io`'s thread, when every process of the sandbox is gone.
    virtual void async_wait(boost::asio::io_context& io, std::function<void(sandbox_exit)> done) = 0;

    /// Any thread, not blocking: SIGKILL for all of it. An orderly stop goes over the host channel.
    virtual void kill() = 0;

    /// Blocking: releases mounts, cgroups and folders of an ended sandbox. Says where files were kept, if they were.
    [[nodiscard]] virtual result<std::optional<std::filesystem::path>> remove() = 0;

    /// For error messages and tests: the sandbox's first process, as the host sees it.
    [[nodiscard]] virtual pid_t init_pid() const noexcept = 0;
};

/// One thing that a runtime needs and the machine lacks.
struct missing_piece {
    std::string what;
    std::string remedy;
};

struct probe_report {
    std::vector<missing_piece> missing;
    std::vector<std::string> notes; ///< e.g. "shares the host's kernel", "cgroup v1", "no network namespaces"
    [[nodiscard]] bool usable() const noexcept { return missing.empty(); }
};

/// What an earlier chalk left behind.
struct leftover {
    std::string kind; ///< "cgroup", "folder", "process"
    std::string name;
    std::string owner;
};

class runtime {
  public:
    runtime() = default;
    runtime(const runtime&) = delete;
    runtime& operator=(const runtime&) = delete;
    virtual ~runtime() = default;

    [[nodiscard]] virtual std::string_view name() const noexcept = 0;
    /// Installed? Set up? If not, what to do. Does not change the machine.
    [[nodiscard]] virtual probe_report probe() = 0;
    /// Makes what all sandboxes of this environment share (staged data, a root file system). Idempotent.
    [[nodiscard]] virtual result<void> prepare(const sandbox_request& request) = 0;
    [[nodiscard]] virtual result<std::unique_ptr<sandbox>> start(const sandbox_request& request) = 0;
    /// All sandboxes of this runtime, those that run and those to come, end by themselves at `until` of this machine's
    /// CLOCK_BOOTTIME unless it is moved before, also when this process is stopped by then. Absent: they have no lease,
    /// as before the first call. A lease that is over starts nothing: start() fails, error_class::sandbox. Any thread,
    /// not blocking, cheap: a node calls it with each answer of its coordinator.
    virtual void set_lease(std::optional<node_time> until) = 0;
    /// Lists, and unless `dry_run` removes, what owners that are gone left behind.
    [[nodiscard]] virtual result<std::vector<leftover>> remove_leftovers(bool dry_run) = 0;
};

} // namespace chalk
