#include "runtimes/namespaces/namespaces_runtime.hpp"

#include "protocol/core/hand_on.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "runtimes/bundle/layout.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"
#include "runtimes/image/environment.hpp"
#include "runtimes/image/rootfs.hpp"
#include "runtimes/image/skeleton.hpp"
#include "runtimes/namespaces/cgroups.hpp"
#include "runtimes/namespaces/ids.hpp"
#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/nest_client.hpp"
#include "runtimes/namespaces/owner.hpp"
#include "runtimes/namespaces/plan.hpp"
#include "runtimes/namespaces/sandbox_handle.hpp"
#include "runtimes/namespaces/seccomp_program.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <system_error>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace chalk {

namespace fs = std::filesystem;
using namespace namespaces;

namespace {

using shared_entry = std::shared_ptr<const image::cache_entry>;

shared_entry share(image::cache_entry entry) {
    return std::make_shared<const image::cache_entry>(std::move(entry));
}

/// What all sandboxes of this process stand on; made with the first.
struct foundation {
    id_range ids;
    bool privileged = true;
    bool idmapped = true;
    image::tree_owners owners;
    std::optional<id_helper> helper; ///< without root
    shared_entry skeleton;
    shared_entry bundle;
    std::unique_ptr<nest_client> nest;
};

result<fs::path> nest_program(const namespaces_options& options) {
    return options.nest_program.empty() ? bundle::find_helper("chalk-nest") : result<fs::path>(options.nest_program);
}

class namespaces_runtime final : public runtime {
  public:
    namespaces_runtime(boost::asio::io_context& io, namespaces_options options)
        : io_(io), options_(std::move(options)), owner_(make_owner_name()), cgroups_(owner_),
          cache_(make_node_cache(options_)),
          state_(options_.state_folder.empty() ? default_state_folder() : options_.state_folder) {}

    std::string_view name() const noexcept override { return "namespaces"; }
    probe_report probe() override;
    result<void> prepare(const sandbox_request& request) override;
    result<std::unique_ptr<sandbox>> start(const sandbox_request& request) override;
    result<std::vector<leftover>> remove_leftovers(bool dry_run) override {
        return namespaces::remove_leftovers(state_, cgroups_.all_owners_folders(), dry_run);
    }

  private:
    result<std::unique_ptr<nest_client>> start_nest(const foundation& base) const;
    result<foundation> lay_foundation() const;
    result<const foundation*> get_foundation();
    result<shared_entry> get_environment(const foundation& base, const environment_source& environment);
    /// The skeleton, or the root file system that the request brings.
    result<shared_entry> get_base_tree(const foundation& base, const sandbox_request& request);
    [[nodiscard]] std::string confinement_note(const foundation& base, const sandbox_request& request) const;

    boost::asio::io_context& io_;
    namespaces_options options_;
    std::string owner_;
    cgroups cgroups_;
    image::cache cache_;
    fs::path state_;
    result<fs::path> make_kept_folder(const foundation& base, const run_id& id) const;
    std::mutex preparing_;
    std::optional<foundation> foundation_;
    std::map<std::string, shared_entry> environments_; ///< by digest; kept as long as this process may start more
    std::map<fs::path, shared_entry> rootfs_;          ///< by where they come from
};

result<std::unique_ptr<nest_client>> namespaces_runtime::start_nest(const foundation& base) const {
    auto program = nest_program(options_);
    if (!program) {
        return program.error();
    }
    auto seccomp = make_seccomp_program();
    if (!seccomp) {
        return seccomp.error();
    }
    const fs::path folder = state_ / owner_;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
        return sandbox_failure(fmt::format("cannot make {}: {}", folder.string(), error.message()));
    }
    nest_orders orders;
    orders.privileged = base.privileged;
    orders.folder = folder.string();
    orders.first_id = base.ids.first;
    orders.id_count = base.ids.count;
    orders.init_program = program->string();
    orders.newuidmap = find_program("newuidmap").value_or("").string();
    orders.newgidmap = find_program("newgidmap").value_or("").string();
    orders.remove_at_end = cgroups_.owner_folders();
    orders.remove_at_end.push_back(folder.string());
    return nest_client::start(options_.copied_program.empty() ? *program : options_.copied_program, orders,
                              seccomp->get());
}

result<foundation> namespaces_runtime::lay_foundation() const {
    foundation base;
    base.privileged = ::geteuid() == 0;
    auto ids = choose_range();
    if (!ids) {
        return ids.error();
    }
    base.ids = *ids;
    auto nest = start_nest(base);
    if (!nest) {
        return nest.error();
    }
    base.nest = std::move(*nest);
    std::error_code error;
    fs::create_directories(cache_.folder(), error);
    base.idmapped =
        base.privileged && !try_sandbox(*base.nest, tree{cache_.folder().string(), tree::read_only | tree::idmap});
    base.owners.base = base.idmapped ? 0 : base.ids.first;
    if (!base.privileged) {
        auto program = nest_program(options_);
        if (!program) {
            return program.error();
        }
        base.helper.emplace(*program, base.ids);
        base.owners.hand_over = [helper = *base.helper](const fs::path& tree, const std::vector<fs::path>& students) {
            return helper.give(tree, students);
        };
    }
    auto skeleton = image::get_skeleton(cache_, base.owners);
    if (!skeleton) {
        return skeleton.error();
    }
    base.skeleton = share(std::move(*skeleton));
    auto parts = options_.bundle_parts ? result<bundle::parts>(*options_.bundle_parts) : bundle::find_parts();
    if (!parts) {
        return parts.error();
    }
    auto made = bundle::get_bundle(cache_, *parts, base.owners);
    if (!made) {
        return made.error();
    }
    base.bundle = share(std::move(*made));
    return base;
}

result<const foundation*> namespaces_runtime::get_foundation() {
    const std::lock_guard lock(preparing_);
    if (!foundation_) {
        auto base = lay_foundation();
        if (!base) {
            return base.error();
        }
        foundation_ = std::move(*base);
    }
    return &*foundation_;
}

result<shared_entry> namespaces_runtime::get_environment(const foundation& base,
                                                         const environment_source& environment) {
    const std::lock_guard lock(preparing_);
    shared_entry& known = environments_[environment.digest];
    if (!known) {
        auto staged = image::stage(cache_, environment, base.owners);
        if (!staged) {
            environments_.erase(environment.digest);
            return staged.error();
        }
        known = share(std::move(*staged));
    }
    return known;
}

result<void> namespaces_runtime::prepare(const sandbox_request& request) {
    const auto base = get_foundation();
    if (!base) {
        return base.error();
    }
    if (const auto environment = get_environment(**base, request.environment); !environment) {
        return environment.error();
    }
    const auto tree = get_base_tree(**base, request);
    return tree ? result<void>{} : tree.error();
}

result<shared_entry> namespaces_runtime::get_base_tree(const foundation& base, const sandbox_request& request) {
    if (!request.rootfs) {
        return base.skeleton;
    }
    const std::lock_guard lock(preparing_);
    shared_entry& known = rootfs_[*request.rootfs];
    if (!known) {
        auto staged = image::get_rootfs(cache_, *request.rootfs, base.owners);
        if (!staged) {
            rootfs_.erase(*request.rootfs);
            return staged.error();
        }
        known = share(std::move(*staged));
    }
    return known;
}

/// In the cache, so that `chalk gc` removes what nobody came for.
result<fs::path> namespaces_runtime::make_kept_folder(const foundation& base, const run_id& id) const {
    const fs::path folder = cache_.folder() / "kept" / fmt::format("{}-{}", id.str(), owner_);
    const uid_t owner = base.owners.root();
    for (const fs::path& one : {folder / "root", folder / "student"}) {
        std::error_code error;
        fs::create_directories(one, error);
        if (error || ::chown(one.c_str(), owner, owner) != 0) {
            return sandbox_failure(fmt::format("cannot make {}: {}", one.string(), std::strerror(errno)));
        }
        if (auto given = base.owners.finish(one); !given) {
            return given.error();
        }
    }
    return folder;
}

/// What is kept lies on the host's own file system, which no size holds.
std::string namespaces_runtime::confinement_note(const foundation& base, const sandbox_request& request) const {
    const auto disk = request.keep ? fmt::format("disk watched, since what it holds is kept ({} MiB)",
                                                 request.limits.student_disk.count >> 20U)
                                   : std::string("disk by tmpfs");
    return fmt::format("namespaces on the host's kernel ({}), no network but loopback, system call filter, {}, {}",
                       base.privileged ? "started by root" : "started without root", cgroups_.note(), disk);
}

/// A sandbox whose kernel has no nftables is used all the same: there is no way out of its network namespace. What is
/// open then is the tool server, behind its token.
void describe_firewall(firewall::policy wanted, int error, host_channel::student_description& student) {
    wanted.student = student.uid;
    if (error != 0) {
        student.confinement_note += fmt::format(", no student firewall (nftables: {})", std::strerror(error));
        return;
    }
    student.firewall = {host_channel::student_firewall::state::applied, wanted.closed_ports,
                        wanted.reach == firewall::network_reach::internal};
    student.confinement_note += fmt::format(", student firewall by nftables: {}", firewall::describe(wanted));
}

/// How a folder of the host changes hands without root.
out_folder::owner_change change_of(const foundation& base) {
    if (!base.helper) {
        return {};
    }
    return [helper = *base.helper](const fs::path& folder, bool to_sandbox) {
        return to_sandbox ? helper.give(folder, {}) : helper.take(folder);
    };
}

result<std::unique_ptr<sandbox>> namespaces_runtime::start(const sandbox_request& request) {
    const auto found = get_foundation();
    if (!found) {
        return found.error();
    }
    const foundation& base = **found;
    const auto environment = get_environment(base, request.environment);
    if (!environment) {
        return environment.error();
    }
    const auto tree = get_base_tree(base, request);
    if (!tree) {
        return tree.error();
    }
    const auto because = [&](const failure& why) {
        return failure{why.kind, fmt::format("run {}: {}", request.id.str(), why.message)};
    };

    sandbox_parts parts;
    parts.stands_on = {*tree, base.bundle, *environment};
    auto groups = cgroups_.make(request.id, request.limits, base.ids.first);
    if (!groups) {
        return because(groups.error());
    }
    parts.cgroup = std::move(*groups);
    const auto undo = [&](const failure& why) -> failure {
        if (parts.cgroup) {
            (void)parts.cgroup->remove(); // `why` is what counts; remove_leftovers finds what stays
        }
        if (parts.out) {
            (void)parts.out->give_back();
        }
        return because(why);
    };

    int channel[2];
    int errors[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, channel) != 0) {
        return undo(sandbox_failure(fmt::format("cannot make the host channel: {}", std::strerror(errno))));
    }
    parts.host_channel.reset(channel[0]);
    const unique_fd harness_channel(channel[1]);
    if (::pipe2(errors, O_CLOEXEC) != 0) {
        return undo(sandbox_failure(fmt::format("cannot make a pipe: {}", std::strerror(errno))));
    }
    parts.stderr_pipe.reset(errors[0]);
    const unique_fd harness_errors(errors[1]);

    plan_request wanted;
    wanted.from.environment_root = (*environment)->folder / "root";
    wanted.from.environment_workdir = (*environment)->folder / "workdir";
    wanted.from.base = (*tree)->folder / "tree";
    wanted.from.base_is_whole = request.rootfs.has_value();
    wanted.from.system_folders = image::system_folders();
    wanted.from.bundle = base.bundle->folder / "tree";
    wanted.from.out = request.out_folder;
    wanted.from.gateway = request.gateway_folder;
    wanted.limits = request.limits;
    wanted.mask = request.environment.mask;
    wanted.mounts = request.mounts;
    wanted.idmapped = base.idmapped;
    wanted.privileged = base.privileged;
    if (!request.out_folder.empty()) {
        auto out = out_folder::lend(request.out_folder, base.idmapped, base.ids, change_of(base));
        if (!out) {
            return undo(out.error());
        }
        parts.out = std::move(*out);
    }

    if (request.keep) {
        auto kept = make_kept_folder(base, request.id);
        if (!kept) {
            return undo(kept.error());
        }
        wanted.from.kept = *kept;
        parts.kept = std::move(*kept);
        if (base.helper) {
            parts.take_kept = [helper = *base.helper](const fs::path& folder) { return helper.take(folder); };
        }
    }

    plan planned = make_plan(wanted);
    sandbox_orders orders;
    orders.hostname = "sandbox";
    orders.trees = std::move(planned.trees);
    orders.steps = std::move(planned.steps);
    orders.argv = options_.harness;
    orders.environment = options_.harness_environment;
    // What is in force, for whoever tries it from inside (docs/reference/confinement.md).
    orders.environment.push_back(fmt::format("CHALK_SANDBOX_MEMORY_BYTES={}", request.limits.memory.count));
    if (request.student_network) {
        orders.environment.push_back(
            fmt::format("CHALK_STUDENT_NETWORK={}", firewall::to_string(request.student_network->reach)));
    }
    hand_on("LOGURU_LEVEL", orders.environment);
#if defined(__SANITIZE_ADDRESS__)
    // The leak checker stops the world with ptrace, which the filter denies.
    orders.environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
#endif
    orders.copy = !options_.copied_program.empty();
    std::vector<int> descriptors = {harness_errors.get(), harness_channel.get()};
    parts.student.uid = sandbox_layout::student_uid;
    parts.student.gid = sandbox_layout::student_gid;
    parts.student.home = sandbox_layout::workdir.string();
    parts.student.confinement_note = confinement_note(base, request);
    if (request.keep) {
        parts.student.watched_disk = request.limits.student_disk;
    }
    constexpr int first_inherited = 2; // stderr, then the host channel at 3
    if (parts.cgroup) {
        const auto pass = [&](const unique_fd& fd) {
            descriptors.push_back(fd.get());
            return first_inherited + static_cast<int>(descriptors.size()) - 1;
        };
        parts.student.cgroup_v2 = parts.cgroup->v2();
        for (const unique_fd& fd : parts.cgroup->student_procs()) {
            parts.student.cgroup_procs.push_back(pass(fd));
        }
        if (parts.cgroup->calls_folder()) {
            parts.student.cgroup_calls_folder = pass(parts.cgroup->calls_folder());
        }
    }
    orders.inherited = static_cast<std::uint32_t>(descriptors.size());
    if (parts.cgroup) {
        for (const unique_fd& fd : parts.cgroup->join()) {
            descriptors.push_back(fd.get());
            ++orders.joined;
        }
        if (parts.cgroup->into()) {
            descriptors.push_back(parts.cgroup->into().get());
            orders.into_cgroup = true;
        }
    } else {
        orders.process_limit = request.limits.processes;
    }
    if (request.student_network) {
        orders.firewall = firewall::nft_batch(firewall::make_rules(*request.student_network), parts.student.uid);
    }
    auto started = base.nest->make_sandbox(orders, descriptors);
    if (!started) {
        return undo(started.error());
    }
    if (request.student_network) {
        describe_firewall(*request.student_network, started->firewall_error, parts.student);
    }
    if (parts.cgroup) {
        parts.cgroup->close_descriptors();
    }
    parts.socket = std::move(started->socket);
    parts.init = started->init;
    return make_sandbox_handle(io_, std::move(parts));
}

probe_report namespaces_runtime::probe() {
    probe_report report = look_at_machine();
    report.notes.emplace_back("shares the host's kernel");
    report.notes.push_back(cgroups_.note());
    if (!cgroups_.available()) {
        report.notes.emplace_back(
            "without cgroups the kernel limits neither memory nor, beyond RLIMIT_NPROC, processes");
    }
    if (!report.usable()) {
        return report;
    }
    foundation trial;
    trial.privileged = ::geteuid() == 0;
    auto ids = choose_range();
    if (!ids) {
        report.missing.push_back({"user ids for sandboxes", ids.error().message});
        return report;
    }
    trial.ids = *ids;
    auto nest = start_nest(trial);
    if (!nest) {
        report.missing.push_back({"namespaces", nest.error().message});
    } else if (auto failed = try_sandbox(**nest, std::nullopt)) {
        report.missing.push_back({"namespaces", failed->message});
    }
    return report;
}

} // namespace

image::cache make_node_cache(const namespaces_options& options) {
    fs::path folder = options.cache_folder.empty() ? image::cache::default_folder() : options.cache_folder;
    if (::geteuid() == 0) {
        return image::cache(std::move(folder));
    }
    return image::cache(std::move(folder), [options](const fs::path& doomed) -> result<void> {
        const auto program = nest_program(options);
        const auto ids = choose_range();
        if (!program || !ids) {
            return program ? ids.error() : program.error();
        }
        return id_helper(*program, *ids).remove(doomed);
    });
}

std::unique_ptr<runtime> make_namespaces_runtime(boost::asio::io_context& io, namespaces_options options) {
    return std::make_unique<namespaces_runtime>(io, std::move(options));
}

} // namespace chalk
