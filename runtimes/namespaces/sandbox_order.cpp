#include "runtimes/namespaces/sandbox_order.hpp"

#include "protocol/core/hand_on.hpp"
#include "protocol/core/sandbox_layout.hpp"
#include "runtimes/confinement/firewall/nftables.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::namespaces {

namespace {

std::vector<std::string> harness_environment(const namespaces_options& options, const sandbox_request& request) {
    auto environment = options.harness_environment;
    // What is in force, for whoever tries it from inside (docs/reference/confinement.md).
    environment.push_back(fmt::format("CHALK_SANDBOX_MEMORY_BYTES={}", request.limits.memory.count));
    if (request.student_network) {
        environment.push_back(
            fmt::format("CHALK_STUDENT_NETWORK={}", firewall::to_string(request.student_network->reach)));
    }
    hand_on("LOGURU_LEVEL", environment);
#if defined(__SANITIZE_ADDRESS__)
    // The leak checker stops the world with ptrace, which the filter denies.
    environment.emplace_back("ASAN_OPTIONS=detect_leaks=0");
#endif
    return environment;
}

/// What the harness is given of the student's groups.
void lend_to_harness(const sandbox_cgroup& groups, sandbox_order& made) {
    constexpr int first_inherited = 2; // stderr, then the host channel at 3
    const auto pass = [&](const unique_fd& fd) {
        made.descriptors.push_back(fd.get());
        return first_inherited + static_cast<int>(made.descriptors.size()) - 1;
    };
    made.student.cgroup_v2 = groups.v2();
    for (const unique_fd& fd : groups.student_procs()) {
        made.student.cgroup_procs.push_back(pass(fd));
    }
    if (groups.calls_folder()) {
        made.student.cgroup_calls_folder = pass(groups.calls_folder());
    }
}

/// What the sandbox's first process enters its groups with.
void lend_to_first_process(const sandbox_cgroup& groups, sandbox_order& made) {
    for (const unique_fd& fd : groups.join()) {
        made.descriptors.push_back(fd.get());
        ++made.orders.joined;
    }
    if (groups.into()) {
        made.descriptors.push_back(groups.into().get());
        made.orders.into_cgroup = true;
    }
}

} // namespace

sandbox_order order_sandbox(const namespaces_options& options, const sandbox_request& request, plan planned,
                            const std::optional<sandbox_cgroup>& groups, const harness_ends& ends) {
    sandbox_order made;
    auto& student = made.student;
    student.uid = sandbox_layout::student_uid;
    student.gid = sandbox_layout::student_gid;
    student.home = sandbox_layout::workdir.string();
    if (request.keep) {
        student.watched_disk = request.limits.student_disk;
    }

    auto& orders = made.orders;
    orders.hostname = "sandbox";
    orders.trees = std::move(planned.trees);
    orders.steps = std::move(planned.steps);
    orders.argv = options.harness;
    orders.environment = harness_environment(options, request);
    orders.copy = !options.copied_program.empty();
    if (request.student_network) {
        orders.firewall = firewall::nft_batch(firewall::make_rules(*request.student_network), student.uid);
    }

    made.descriptors = {ends.errors, ends.channel};
    if (groups) {
        lend_to_harness(*groups, made);
    }
    orders.inherited = static_cast<std::uint32_t>(made.descriptors.size());
    if (groups) {
        lend_to_first_process(*groups, made);
    } else {
        orders.process_limit = request.limits.processes;
    }
    return made;
}

} // namespace chalk::namespaces
