#include "cli/cluster/status_command.hpp"

#include "cli/refused.hpp"
#include "cli/run/sizes.hpp"
#include "cli/sweep/columns.hpp"
#include "cli/sweep/control_socket.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdio>
#include <memory>
#include <vector>

namespace chalk::cli {

namespace {

constexpr std::chrono::seconds status_patience{30};

exit_code show_nodes(const std::string& folder, bool as_json) {
    const auto said = ask_sweep(folder, actors::control::nodes{}, status_patience);
    if (!said) {
        return refuse("chalk cluster status", said.error(), exit_code::usage);
    }
    if (as_json) {
        return put(*said + "\n");
    }
    const auto nodes = parse_json(*said);
    if (!nodes) {
        return refuse("chalk cluster status", harness_failure("the sweep's answer makes no sense"),
                      exit_code::run_error);
    }
    return put(nodes_page(*nodes, style_of_stdout()));
}

} // namespace

std::string nodes_page(const json& nodes, const page_style& style) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& node : nodes.value("nodes", json::array())) {
        const auto size = [&](const char* key) {
            return node.contains(key) ? format_size(bytes{node[key].get<std::uint64_t>()}) : std::string();
        };
        rows.push_back({node.value("node", ""), node.value("state", ""), node.value("linked", false) ? "yes" : "no",
                        fmt::format("{}", node.value("runs", 0)),
                        node.contains("milli_cpus") ? fmt::format("{}", node["milli_cpus"].get<double>() / 1000) : "",
                        size("memory_bytes"), size("disk_bytes"),
                        fmt::format("{}", fmt::join(node.value("labels", std::vector<std::string>()), " "))});
    }
    const auto table =
        rows.empty()
            ? std::string("no node has joined\n")
            : columns_text({"node", "state", "linked", "runs", "cpus", "memory", "disk", "labels"}, rows, style);
    return fmt::format("{}{} runs are with nodes, {} wait for one\n", table, nodes.value("runs_on_nodes", 0),
                       nodes.value("runs_waiting", 0));
}

void add_cluster_status_command(CLI::App& parent, exit_code& code) {
    auto* status = parent.add_subcommand("status", "How the nodes of a sweep stand that runs");
    const auto folder = std::make_shared<std::string>();
    const auto as_json = std::make_shared<bool>(false);
    status->add_option("DIR", *folder, "the sweep's folder")->required();
    status->add_flag("--json", *as_json, "print one JSON object");
    status->callback([folder, as_json, &code] { code = show_nodes(*folder, *as_json); });
}

} // namespace chalk::cli
