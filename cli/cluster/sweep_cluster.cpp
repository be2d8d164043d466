#include "cli/cluster/sweep_cluster.hpp"

#include "cli/cluster/cluster_options.hpp"
#include "cli/cluster/run_sheet.hpp"
#include "cli/cluster/sweep_sheet.hpp"

#include <fmt/format.h>

#include <map>
#include <utility>

namespace chalk::cli {

namespace {

/// Runs that are with the nodes, or on their way there, at most: each costs the coordinator a few KiB.
constexpr std::size_t most_runs_out = 16'384;

/// Grows with each process that opens the journal, and is another in each sweep: a node that still has something of
/// another sweep's must not bring it as this one's.
std::uint64_t epoch_of(const opened_sweep& opened) {
    constexpr unsigned session_bits = 20;
    constexpr std::size_t id_digits = 8;
    const std::uint64_t sweep = std::stoull(opened.id.substr(0, id_digits), nullptr, 16);
    return sweep << session_bits | (opened.session & ((std::uint64_t{1} << session_bits) - 1));
}

actors::run_needs needs_of(const actors::run_order& order, const std::string& runtime,
                           const std::map<std::filesystem::path, std::string>& digests) {
    actors::run_needs needs;
    needs.wanted = order.reservation;
    needs.runtime = runtime;
    if (const auto found = digests.find(order.config.environment); found != digests.end()) {
        needs.digests.push_back(found->second);
    }
    return needs;
}

} // namespace

step_result<sweep_cluster> prepare_cluster(boost::asio::io_context& io, const sweep_site& site,
                                           const config::cluster_file& cluster, coordinator_site::speaker say) {
    if (auto fine = check_cluster_options(site.how()); !fine) {
        return refusal_of(fine.error(), exit_code::machine_lacks);
    }
    auto trees = read_environment_trees(site);
    if (!trees) {
        return refusal_of(trees.error(), exit_code::machine_lacks);
    }
    auto made = coordinator_site::open(io, cluster, *trees, std::move(say));
    if (!made) {
        return refusal_of(made.error(), exit_code::machine_lacks);
    }
    return sweep_cluster{std::move(*made), std::move(*trees)};
}

result<void> use_cluster(actors::tree_settings& settings, sweep_cluster& cluster, const sweep_site& site,
                         const opened_sweep& opened) {
    const auto sheet = describe_sweep(site, opened.id, cluster.trees);
    auto text = sweep_sheet_text(sheet);
    if (!text) {
        return text.error();
    }
    auto& plan = settings.cluster.emplace();
    plan.rules.version = CHALK_VERSION;
    plan.rules.epoch = epoch_of(opened);
    if (cluster.site->cluster().lease) {
        plan.rules.terms = actors::terms_for(*cluster.site->cluster().lease);
    }
    if (auto terms = actors::check_lease_terms(plan.rules.terms); !terms) {
        return terms.error();
    }
    plan.leases = opened.leases;
    plan.open = opened.open;
    plan.sweep_sheet = std::move(*text);
    plan.run_sheet = [](const actors::run_order& order) { return run_sheet_text(order); };
    std::map<std::filesystem::path, std::string> digests;
    for (const auto& tree : cluster.trees) {
        digests.emplace(tree.name, tree.digest.hex());
    }
    plan.needs = [runtime = sheet.runtime, digests = std::move(digests)](const actors::run_order& order) {
        return needs_of(order, runtime, digests);
    };
    cluster.site->describe(plan);
    settings.window = most_runs_out;
    settings.sandboxes = nullptr; // nothing runs here
    settings.models.reset();
    return {};
}

} // namespace chalk::cli
