#include "cli/run/tree_settings.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace chalk::cli;

TEST_CASE("of several runs the disk of their transcripts is watched, of one alone none") {
    const chalk::test::temporary_folder folder;
    const prepared_runs prepared;
    const run_options options;
    config::run_config run;
    run.transcript_file = folder.path() / "not" / "made" / "yet.json";
    std::vector<config::run_config> runs(1, run);
    auto settings = make_tree_settings(prepared, options, runs, nullptr);
    REQUIRE(settings);
    CHECK(settings->disk.empty());
    runs.resize(2, run);
    settings = make_tree_settings(prepared, options, runs, nullptr);
    REQUIRE(settings);
    CHECK(settings->disk == folder.path());
    runs.front().transcript_file = "here.json";
    settings = make_tree_settings(prepared, options, runs, nullptr);
    REQUIRE(settings);
    CHECK(settings->disk == std::filesystem::current_path());
}
