#include "cli/cluster/cluster_metrics.hpp"

#include "actors/cluster/membership.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cli {

namespace {

void add_family(std::string& page, std::string_view name, std::string_view type, std::string_view help) {
    page += fmt::format("# TYPE {} {}\n# HELP {} {}\n", name, type, name, help);
}

/// A node's name has no character that a label's value would have to escape.
std::uint64_t number_in(const json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<std::uint64_t>() : 0;
}

} // namespace

std::string cluster_metrics(const json& nodes, const json& sweep,
                            const std::vector<std::pair<std::string_view, std::uint64_t>>& refused) {
    const auto all = nodes.value("nodes", json::array());
    std::string page;
    add_family(page, "chalk_nodes", "gauge", "Nodes of the cluster by state.");
    for (const auto state : actors::member_state_names) {
        const auto count =
            std::count_if(all.begin(), all.end(), [&](const json& node) { return node.value("state", "") == state; });
        page += fmt::format("chalk_nodes{{state=\"{}\"}} {}\n", state, count);
    }
    add_family(page, "chalk_node_runs", "gauge", "Runs that a node has.");
    for (const auto& node : all) {
        page += fmt::format("chalk_node_runs{{node=\"{}\"}} {}\n", node.value("node", ""), number_in(node, "runs"));
    }
    add_family(page, "chalk_runs_waiting", "gauge", "Runs that wait for a node.");
    page += fmt::format("chalk_runs_waiting {}\n", number_in(nodes, "runs_waiting"));
    add_family(page, "chalk_runs", "gauge", "Runs of the sweep by outcome so far.");
    for (const char* outcome : {"passed", "failed", "errors", "skipped"}) {
        page += fmt::format("chalk_runs{{outcome=\"{}\"}} {}\n", outcome, number_in(sweep, outcome));
    }
    add_family(page, "chalk_runs_planned", "gauge", "Runs that the sweep has.");
    page += fmt::format("chalk_runs_planned {}\n", number_in(sweep, "total"));
    add_family(page, "chalk_retries", "counter", "Attempts that were made again.");
    page += fmt::format("chalk_retries_total {}\n", number_in(sweep, "retries"));
    add_family(page, "chalk_refused_connections", "counter", "Connections that were not let in, by reason.");
    for (const auto& [reason, count] : refused) {
        page += fmt::format("chalk_refused_connections_total{{reason=\"{}\"}} {}\n", reason, count);
    }
    return page + "# EOF\n";
}

} // namespace chalk::cli
