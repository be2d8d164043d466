#include "config/cluster_file.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fstream>

using namespace chalk;
using namespace chalk::config;

namespace {

result<cluster_file> load_text(const test::temporary_folder& folder, const std::string& text) {
    const auto file = folder.path() / "cluster.toml";
    std::ofstream(file) << text;
    return load_cluster_file(file.string());
}

} // namespace

TEST_CASE("a cluster file says where the nodes are, and its paths are relative to it") {
    const test::temporary_folder folder;
    const auto read = load_text(folder, "listen = '0.0.0.0:7070'\nnodes = ['a:1', '[::1]:2']\ntls = 'fleet'\n"
                                        "name = 'c'\nallow = ['n1']\nlease_s = 2.5\nmetrics = '127.0.0.1:9'\n");
    REQUIRE(read);
    CHECK(read->listen == "0.0.0.0:7070");
    CHECK(read->nodes == std::vector<std::string>{"a:1", "[::1]:2"});
    CHECK(read->tls == folder.path() / "fleet");
    CHECK(read->name == "c");
    CHECK(read->allow == std::vector<std::string>{"n1"});
    CHECK(read->lease == milliseconds(2500));
    CHECK(read->metrics == "127.0.0.1:9");
    const auto again = load_cluster_file(to_json(*read).dump());
    REQUIRE(again);
    CHECK(to_json(*again) == to_json(*read));
}

TEST_CASE("a cluster file that makes no sense is refused with its place") {
    const test::temporary_folder folder;
    const std::pair<std::string, std::string> bad[] = {
        {"tls = 'fleet'\n", "listen"},
        {"listen = 'a:1'\n", "tls"},
        {"tls = 'fleet'\nlisten = 'a:1'\nlease = 3\n", "cluster.toml:3"},
        {"tls = 'fleet'\nnodes = 'a:1'\n", "nodes"},
        {"tls = 'fleet'\nnodes = ['a:1']\nlease_s = 0\n", "lease_s"},
        {"tls = 'fleet'\nnodes = ['a:1']\nlease_s = 604801\n", "lease_s"},
    };
    for (const auto& [text, named] : bad) {
        CAPTURE(text);
        const auto read = load_text(folder, text);
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::config);
        CHECK(read.error().message.find(named) != std::string::npos);
    }
}
