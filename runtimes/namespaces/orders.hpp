/// What the runtime tells chalk-nest, the small helper that makes sandboxes, and how it is put on their socket
/// (SOCK_SEQPACKET, one message a packet, descriptors beside it). Host and helper are of one build: the format has no
/// versions. Shared by both, so free of exceptions and of every library but the standard one.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace chalk::namespaces {

/// A mount that the helper detaches from the host's tree, so that the sandbox can attach it where it wants.
struct tree {
    enum flag : std::uint32_t {
        read_only = 1,
        nodev = 2,
        nosuid = 4,
        noexec = 8,
        recursive = 16,
        idmap = 32,         ///< owners on disk 0..n appear as owners 0..n inside
        idmap_if_able = 64, ///< as idmap; where the file system refuses, owners are shown as nobody
        devices = 128,      ///< the helper's own /dev; `source` is ignored
    };
    std::string source;
    std::uint32_t flags = 0;
    friend bool operator==(const tree&, const tree&) = default;
};

/// One thing the sandbox's first process does to build its file system. Paths are relative to the scratch folder, which
/// is a tmpfs of its own once the first step is done.
struct step {
    enum class kind : std::uint32_t {
        scratch,   ///< mount a tmpfs (`options`) out of the way and work from there
        tmpfs,     ///< at `path`, with `options`
        directory, ///< make `path` with mode `number`, owner `owner`; with `options` keep_mode, one that is there
                   ///< keeps its own
        file,      ///< make `path` with mode `number` and contents `options`
        symlink,   ///< make `path`, pointing at `options`
        overlay,   ///< at `path`, with `options`
        attach,    ///< tree number `number` at `path`
        bind,      ///< what is at `options` also at `path`
        bind_host, ///< as bind, from a path of the host
        devpts,    ///< at `path`
        proc,      ///< at `path`
        mask,      ///< cover what is at `path` below the root `options`, if it is there, with an empty read-only thing
        read_only, ///< remount `path` read-only
        enter,     ///< make `path` the root and forget the old one
    };
    static constexpr const char* keep_mode = "keep";
    kind what = kind::directory;
    std::string path;
    std::string options;
    std::uint32_t number = 0;
    std::uint32_t owner = 0;
    friend bool operator==(const step&, const step&) = default;
};

/// First message on the owner's socket. Descriptors: the seccomp program (a memfd), and lease_page's page and bell.
struct nest_orders {
    std::string folder;         ///< the owner's folder; as root, the devices that sandboxes share are mounted there
    std::uint32_t first_id = 0; ///< of the host, shown as 0 inside
    std::uint32_t id_count = 0;
    bool privileged = true;   ///< false: ids are mapped by newuidmap and newgidmap
    std::string init_program; ///< chalk-nest, which every sandbox's first process becomes
    std::string newuidmap;
    std::string newgidmap;
    std::vector<std::string>
        remove_at_end; ///< folders (cgroups too) that go, with the folders in them, when the owner does
};

/// A sandbox. Descriptors, in this order: the sandbox's socket, `inherited` for the harness (2, 3, then 4 ...),
/// `joined` cgroup membership files, and, with `into_cgroup`, a cgroup v2 folder.
struct sandbox_orders {
    std::string hostname;
    std::vector<tree> trees;
    std::vector<step> steps;
    std::vector<std::string> argv; ///< of the harness
    std::vector<std::string> environment;
    bool copy = false; ///< the harness is a copy of the helper (nest/nest.hpp) and not an executable of the sandbox
    std::uint32_t inherited = 0;
    std::uint32_t joined = 0;
    bool into_cgroup = false;
    std::uint64_t process_limit = 0; ///< RLIMIT_NPROC where there are no cgroups; 0: none
    std::string firewall;            ///< firewall::nft_batch; empty: none
};

/// On the sandbox's socket, towards the host.
struct sandbox_report {
    enum class kind : std::uint32_t {
        cloned, ///< the first process exists; `pid` is its number on the host
        ready,  ///< the file system stands; the first process takes over. `status`: error number of the firewall, or 0
        failed, ///< no sandbox: `text` says which step and why
        ended,  ///< the harness ended, with wait status `status`; the rest is about to be killed
        gone,   ///< every process is gone; the last message
    };
    kind what = kind::gone;
    std::int32_t status = 0;
    std::int32_t pid = 0;
    std::string text;
};

[[nodiscard]] std::string encode(const nest_orders& orders);
[[nodiscard]] std::string encode(const sandbox_orders& orders);
[[nodiscard]] std::string encode(const sandbox_report& report);
/// nullopt: cut short, or with bytes left over.
[[nodiscard]] std::optional<nest_orders> decode_nest_orders(std::string_view packet);
[[nodiscard]] std::optional<sandbox_orders> decode_sandbox_orders(std::string_view packet);
[[nodiscard]] std::optional<sandbox_report> decode_sandbox_report(std::string_view packet);

/// The longest packet either side accepts: under the default send buffer of a socket.
inline constexpr std::size_t max_packet = 160 * 1024;
inline constexpr std::size_t max_descriptors = 32;

/// What is at the start of the page of a lease (lease_page.hpp): CLOCK_BOOTTIME in nanoseconds, 0 for no lease.
using lease_end = std::atomic<std::int64_t>;
static_assert(lease_end::is_always_lock_free, "processes share it");
inline constexpr std::size_t lease_page_size = sizeof(lease_end); ///< the kernel makes a page of it

} // namespace chalk::namespaces
