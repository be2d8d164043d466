#include "cli/cluster/cluster_metrics.hpp"

#include "cli/cluster/refusal_log.hpp"
#include "cli/cluster/status_command.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;
using namespace std::chrono_literals;

namespace {

const json two_nodes = {{"nodes",
                         {{{"node", "n1"},
                           {"state", "ready"},
                           {"runs", 3},
                           {"linked", true},
                           {"milli_cpus", 2000},
                           {"memory_bytes", 1U << 30U},
                           {"disk_bytes", 1U << 30U},
                           {"labels", {"gpu=none"}}},
                          {{"node", "n2"}, {"state", "lost"}, {"runs", 0}, {"linked", false}}}},
                        {"runs_on_nodes", 3},
                        {"runs_waiting", 7}};

} // namespace

TEST_CASE("a cluster's metrics are a page of the OpenMetrics text format") {
    const json sweep = {{"total", 20}, {"passed", 5}, {"failed", 4}, {"errors", 1}, {"skipped", 0}, {"retries", 2}};
    const auto page = cluster_metrics(two_nodes, sweep, {{"too_fast", 9}});
    for (const char* line :
         {"# TYPE chalk_nodes gauge\n", "chalk_nodes{state=\"ready\"} 1\n", "chalk_nodes{state=\"lost\"} 1\n",
          "chalk_nodes{state=\"suspect\"} 0\n", "chalk_node_runs{node=\"n1\"} 3\n", "chalk_runs_waiting 7\n",
          "chalk_runs{outcome=\"passed\"} 5\n", "chalk_runs_planned 20\n", "chalk_retries_total 2\n",
          "# TYPE chalk_refused_connections counter\n", "chalk_refused_connections_total{reason=\"too_fast\"} 9\n"}) {
        CAPTURE(line);
        CHECK(page.find(line) != std::string::npos);
    }
    CHECK(page.ends_with("\n# EOF\n"));
    CHECK(cluster_metrics(json::object(), json::object(), {}).ends_with("# EOF\n"));
}

TEST_CASE("the page of nodes has a line for each") {
    const auto page = nodes_page(two_nodes, {});
    CHECK(page.find("n1") != std::string::npos);
    CHECK(page.find("gpu=none") != std::string::npos);
    CHECK(page.find("3 runs are with nodes, 7 wait for one") != std::string::npos);
    CHECK(nodes_page(json::object(), {}).starts_with("no node has joined"));
}

TEST_CASE("a refused peer is said once in a while, a stranger's noise not at all") {
    refusal_log log;
    const auto start = refusal_log::clock::time_point{};
    cluster::refusal why{cluster::refusal_reason::revoked, "10.0.0.1:5", cluster::node_name::parse("n1").value()};
    const auto said = log.line(why, start);
    REQUIRE(said);
    CHECK(said->find("n1") != std::string::npos);
    CHECK(said->find("revoked") != std::string::npos);
    why.address = "10.0.0.1:6";
    CHECK_FALSE(log.line(why, start + 59s));
    CHECK(log.line(why, start + 60s));
    why.reason = cluster::refusal_reason::not_allowed;
    CHECK(log.line(why, start + 60s));
    for (const auto quiet : {cluster::refusal_reason::not_tls, cluster::refusal_reason::too_slow,
                             cluster::refusal_reason::too_fast, cluster::refusal_reason::left}) {
        why.reason = quiet;
        CHECK_FALSE(log.line(why, start));
    }
    why.reason = cluster::refusal_reason::foreign_authority;
    for (std::size_t i = 0; i < 10 * refusal_log::most_kept; ++i) {
        why.name = cluster::node_name::parse("n" + std::to_string(i)).value();
        static_cast<void>(log.line(why, start + 61s));
    }
    why.name = cluster::node_name::parse("one-more").value();
    CHECK_FALSE(log.line(why, start + 62s));
    CHECK(log.line(why, start + 130s));
}
