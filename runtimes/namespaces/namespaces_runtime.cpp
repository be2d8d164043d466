#include "runtimes/namespaces/namespaces_runtime.hpp"

#include "runtimes/image/skeleton.hpp"
#include "runtimes/namespaces/cgroups.hpp"
#include "runtimes/namespaces/confinement_note.hpp"
#include "runtimes/namespaces/foundation.hpp"
#include "runtimes/namespaces/kept_folder.hpp"
#include "runtimes/namespaces/lease_page.hpp"
#include "runtimes/namespaces/machine.hpp"
#include "runtimes/namespaces/owner.hpp"
#include "runtimes/namespaces/plan.hpp"
#include "runtimes/namespaces/sandbox_handle.hpp"
#include "runtimes/namespaces/sandbox_order.hpp"
#include "runtimes/namespaces/staged_trees.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <mutex>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

namespace chalk {

namespace fs = std::filesystem;
using namespace namespaces;

namespace {

/// What of the cache a sandbox is made of.
struct sandbox_base {
    const foundation* shared = nullptr;
    shared_entry environment;
    shared_entry tree; ///< the skeleton, or the root file system that the request brings
};

plan_request plan_for(const sandbox_request& request, const sandbox_base& base, const std::optional<fs::path>& kept) {
    plan_request wanted;
    wanted.from.environment_root = base.environment->folder / "root";
    wanted.from.environment_workdir = base.environment->folder / "workdir";
    wanted.from.base = base.tree->folder / "tree";
    wanted.from.base_is_whole = request.rootfs.has_value();
    wanted.from.system_folders = image::system_folders();
    wanted.from.bundle = base.shared->bundle->folder / "tree";
    wanted.from.out = request.out_folder;
    wanted.from.gateway = request.gateway_folder;
    wanted.from.kept = kept;
    wanted.limits = request.limits;
    wanted.mask = request.environment.mask;
    wanted.mounts = request.mounts;
    wanted.idmapped = base.shared->idmapped;
    wanted.privileged = base.shared->privileged;
    return wanted;
}

/// The harness's own ends of what it talks to its host by.
struct harness_side {
    unique_fd channel;
    unique_fd errors;
};

/// The other ends go to `parts`. error_class::sandbox.
result<harness_side> open_harness_side(sandbox_parts& parts) {
    harness_side side;
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return sandbox_failure(fmt::format("cannot make the host channel: {}", std::strerror(errno)));
    }
    parts.host_channel.reset(ends[0]);
    side.channel.reset(ends[1]);
    if (::pipe2(ends, O_CLOEXEC) != 0) {
        return sandbox_failure(fmt::format("cannot make a pipe: {}", std::strerror(errno)));
    }
    parts.stderr_pipe.reset(ends[0]);
    side.errors.reset(ends[1]);
    return side;
}

class namespaces_runtime final : public runtime {
  public:
    namespaces_runtime(boost::asio::io_context& io, namespaces_options options)
        : io_(io), options_(std::move(options)), owner_(make_owner_name()), cgroups_(owner_),
          cache_(make_node_cache(options_)),
          state_(options_.state_folder.empty() ? default_state_folder() : options_.state_folder),
          lease_(lease_page::make()) {}

    std::string_view name() const noexcept override { return "namespaces"; }
    probe_report probe() override;
    result<void> prepare(const sandbox_request& request) override;
    result<std::unique_ptr<sandbox>> start(const sandbox_request& request) override;
    void set_lease(std::optional<node_time> until) override {
        if (lease_) {
            (*lease_)->set(until);
        }
    }
    result<std::vector<leftover>> remove_leftovers(bool dry_run) override {
        return namespaces::remove_leftovers(state_, cgroups_.all_owners_folders(), dry_run);
    }

  private:
    [[nodiscard]] foundation_site site() const { return {options_, owner_, cgroups_, cache_, **lease_, state_}; }
    result<const foundation*> get_foundation();
    result<sandbox_base> get_base(const sandbox_request& request);
    /// Fills `parts`, which keeps what was made when it fails.
    result<void> build(const sandbox_request& request, const sandbox_base& base, sandbox_parts& parts) const;
    result<void> lend_folders(const sandbox_request& request, const foundation& base, sandbox_parts& parts) const;

    boost::asio::io_context& io_;
    namespaces_options options_;
    std::string owner_;
    cgroups cgroups_;
    image::cache cache_;
    fs::path state_;
    result<std::unique_ptr<lease_page>> lease_; ///< a failure: no sandbox is started
    std::mutex laying_;
    std::optional<foundation> foundation_; ///< laid with the first sandbox
    staged_trees staged_{cache_};
};

result<const foundation*> namespaces_runtime::get_foundation() {
    if (!lease_) {
        return lease_.error();
    }
    const std::lock_guard lock(laying_);
    if (!foundation_) {
        auto base = lay_foundation(site());
        if (!base) {
            return base.error();
        }
        foundation_ = std::move(*base);
    }
    return &*foundation_;
}

result<sandbox_base> namespaces_runtime::get_base(const sandbox_request& request) {
    const auto shared = get_foundation();
    if (!shared) {
        return shared.error();
    }
    const foundation& base = **shared;
    auto environment = staged_.environment(request.environment, base.owners);
    if (!environment) {
        return environment.error();
    }
    auto tree = request.rootfs ? staged_.rootfs(*request.rootfs, base.owners) : result<shared_entry>(base.skeleton);
    if (!tree) {
        return tree.error();
    }
    return sandbox_base{&base, std::move(*environment), std::move(*tree)};
}

result<void> namespaces_runtime::prepare(const sandbox_request& request) {
    const auto base = get_base(request);
    return base ? result<void>{} : base.error();
}

result<std::unique_ptr<sandbox>> namespaces_runtime::start(const sandbox_request& request) {
    const auto base = get_base(request);
    if (!base) {
        return base.error();
    }
    sandbox_parts parts;
    parts.stands_on = {base->tree, base->shared->bundle, base->environment};
    if (auto built = build(request, *base, parts); !built) {
        if (parts.cgroup) {
            (void)parts.cgroup->remove(); // the first failure counts; remove_leftovers finds what stays
        }
        if (parts.out) {
            (void)parts.out->give_back();
        }
        return failure{built.error().kind, fmt::format("run {}: {}", request.id.str(), built.error().message)};
    }
    return make_sandbox_handle(io_, std::move(parts));
}

result<void> namespaces_runtime::build(const sandbox_request& request, const sandbox_base& base,
                                       sandbox_parts& parts) const {
    const foundation& shared = *base.shared;
    auto groups = cgroups_.make(request.id, request.limits, shared.ids.first);
    if (!groups) {
        return groups.error();
    }
    parts.cgroup = std::move(*groups);
    const auto harness = open_harness_side(parts);
    if (!harness) {
        return harness.error();
    }
    if (auto lent = lend_folders(request, shared, parts); !lent) {
        return lent;
    }
    auto order = order_sandbox(options_, request, make_plan(plan_for(request, base, parts.kept)), parts.cgroup,
                               {harness->errors.get(), harness->channel.get()});
    parts.student = std::move(order.student);
    parts.student.confinement_note = confinement_note(shared.privileged, cgroups_.note(), request);
    auto started = shared.nest->make_sandbox(order.orders, order.descriptors);
    if (!started) {
        return started.error();
    }
    if (request.student_network) {
        describe_firewall(*request.student_network, started->firewall_error, parts.student);
    }
    if (parts.cgroup) {
        parts.cgroup->close_descriptors();
    }
    parts.socket = std::move(started->socket);
    parts.init = started->init;
    return {};
}

/// The host's folders that the sandbox writes to.
result<void> namespaces_runtime::lend_folders(const sandbox_request& request, const foundation& base,
                                              sandbox_parts& parts) const {
    if (!request.out_folder.empty()) {
        auto out = out_folder::lend(request.out_folder, base.idmapped, base.ids, owner_change_of(base));
        if (!out) {
            return out.error();
        }
        parts.out = std::move(*out);
    }
    if (request.keep) {
        auto kept = make_kept_folder(cache_, request.id, owner_, base.owners);
        if (!kept) {
            return kept.error();
        }
        parts.kept = std::move(*kept);
        if (base.helper) {
            parts.take_kept = [helper = *base.helper](const fs::path& folder) { return helper.take(folder); };
        }
    }
    return {};
}

probe_report namespaces_runtime::probe() {
    probe_report report = look_at_machine();
    report.notes.emplace_back("shares the host's kernel");
    report.notes.push_back(cgroups_.note());
    if (!cgroups_.available()) {
        report.notes.emplace_back(
            "without cgroups the kernel limits neither memory nor, beyond RLIMIT_NPROC, processes");
    }
    if (!lease_) {
        report.missing.push_back({"memory to share with sandboxes", lease_.error().message});
    }
    if (report.usable()) {
        if (auto missing = try_foundation(site())) {
            report.missing.push_back(std::move(*missing));
        }
    }
    return report;
}

} // namespace

std::unique_ptr<runtime> make_namespaces_runtime(boost::asio::io_context& io, namespaces_options options) {
    return std::make_unique<namespaces_runtime>(io, std::move(options));
}

} // namespace chalk
