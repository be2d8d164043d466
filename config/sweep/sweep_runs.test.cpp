#include "config/sweep/sweep_runs.hpp"

#include "config/run_config_keys.hpp"
#include "config/sweep/sweep_plan_text.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <set>

using namespace chalk;
using namespace chalk::config;

namespace {

struct workspace {
    test::temporary_folder folder;

    workspace() {
        folder.write("hello/src/environment/__init__.py", "");
        folder.write("other/src/environment/__init__.py", "");
    }
    [[nodiscard]] sweep_runs runs(const std::string& members) const {
        const auto text = R"({"name": "s", "base": {"environment": "hello", "model": "m", "limits": {"max_turns": 5},
                              "task_args": {"level": 1, "kept": true}})" +
                          members + "}";
        return {load_sweep_file(folder.write("sweep.json", text).string()).value(), "out"};
    }
};

} // namespace

TEST_CASE("a cell's config is the base with the cell's values") {
    const workspace here;
    auto runs =
        here.runs(R"(, "axes": {"task_args.level": [2, 3], "x": [{"limits.max_turns": null, "environment": "other"},
                                        {"model": "n", "extra_config.deep.er": [1]}]})");
    const auto first = runs.cell(0);
    CHECK(first->config.task_args == json{{"level", 2}, {"kept", true}});
    CHECK(first->config.limit.max_turns == std::nullopt);
    CHECK(first->config.environment == here.folder.path() / "other");
    CHECK(first->config.model == "m");
    const auto last = runs.cell(3);
    CHECK(last->config.task_args["level"] == 3);
    CHECK(last->config.limit.max_turns == 5);
    CHECK(last->config.environment == here.folder.path() / "hello");
    CHECK(last->config.model == "n");
    CHECK(last->config.extra_config == json{{"deep", {{"er", {1}}}}});
    const auto sources = runs.sources(*last);
    CHECK(sources.at("task_args.level").ends_with("sweep.json:2"));
    CHECK(sources.at("limits.max_turns").ends_with("sweep.json:1"));
    CHECK(sources.at("agent") == "default");
    CHECK(runs.environments() == std::vector{here.folder.path() / "hello", here.folder.path() / "other"});
}

TEST_CASE("a null in an axis sets any key as if it had been left out") {
    const workspace here;
    const run_config fresh;
    std::size_t seen = 0;
    for (const auto& spec : run_config_keys()) {
        if (!spec.nullable) {
            continue;
        }
        INFO(spec.path);
        run_config config;
        const json some = spec.kind == value_kind::text ? json("x") : json(7);
        REQUIRE(check_value(spec, some).empty());
        spec.set(config, some);
        CHECK(spec.get(config) == some);
        spec.set(config, nullptr);
        CHECK(spec.get(config) == spec.get(fresh));
        ++seen;
    }
    CHECK(seen > 10);
}

TEST_CASE("a run has an id, a seed and a transcript of its own") {
    const workspace here;
    auto runs = here.runs(R"(, "axes": {"task": ["a", "b"]}, "repeat": 3, "seed": 9)");
    const auto cell = runs.cell(1);
    const auto run = runs.run(*cell, 2, attempt_number{4});
    CHECK(run.id.str() == "s." + cell->values.id + ".2");
    CHECK(run.seed == seed_of(9, 2));
    CHECK(run.transcript_file == "out/runs/" + run.id.str() + "/attempt-4/transcript.json");
    CHECK(run.task == "b");
    std::set<std::string> ids;
    for (std::uint64_t number = 0; number < 2; ++number) {
        for (std::uint64_t repeat = 0; repeat < runs.repeats(); ++repeat) {
            ids.insert(runs.id(*runs.cell(number), repeat).str());
        }
    }
    CHECK(ids.size() == 6);
    CHECK(runs.environments() == std::vector{here.folder.path() / "hello"});
}

TEST_CASE("the same repeat of all cells has the same seed, another repeat or sweep another one") {
    std::set<std::uint64_t> seeds;
    for (std::uint64_t sweep = 0; sweep < 10; ++sweep) {
        for (std::uint64_t repeat = 0; repeat < 100; ++repeat) {
            const auto seed = seed_of(sweep, repeat);
            CHECK(seed <= largest_seed);
            seeds.insert(seed);
        }
    }
    CHECK(seeds.size() == 1'000);
    // Part of what a user has: a later chalk must not derive others. First 53 bits of SHA-256 of "seed 0 repeat 0".
    CHECK(seed_of(0, 0) == 749'848'240'219'250);
}

TEST_CASE("cells that were used last are shared, and the others made anew alike") {
    const workspace here;
    std::string tasks;
    for (int i = 0; i < 200; ++i) {
        tasks += fmt::format("{}\"t{}\"", i == 0 ? "" : ", ", i);
    }
    auto runs = here.runs(R"(, "axes": {"task": [)" + tasks + "]}");
    const auto first = runs.cell(0);
    CHECK(runs.cell(0) == first);
    for (std::uint64_t i = 1; i < 200; ++i) {
        CHECK(runs.cell(i)->config.task == fmt::format("t{}", i));
    }
    CHECK(runs.cell(0) != first);
    CHECK(runs.cell(0)->values.id == first->values.id);
}

TEST_CASE("a plan says what a sweep will run") {
    const workspace here;
    auto runs = here.runs(R"(, "axes": {"task": ["a", "b", "c"]}, "exclude": [{"task": "b"}], "repeat": 4)");
    const auto plan = plan_sweep(runs);
    const auto text = sweep_plan_text(plan);
    INFO(text);
    CHECK(text.starts_with("sweep s: 2 cells, 4 runs of each, 8 runs\n"
                           "  the filters leave out 1 of 3 combinations\n"
                           "  axis task: 3 values\n"
                           "  seed 0, sha256:"));
    const auto a = runs.cell(0)->values.id;
    const auto c = runs.cell(2)->values.id;
    CHECK(text.ends_with(fmt::format("  s.{0}.0  task=a\n  s.{1}.0  task=c\n  s.{0}.1  task=a\n  s.{1}.1  task=c\n"
                                     "  s.{0}.2  task=a\n  and 3 more\n",
                                     a, c)));
    const auto json = sweep_plan_json(plan);
    CHECK(json["runs"] == 8);
    CHECK(json["cells"] == 2);
    CHECK(json["axes"][0]["values"] == 3);
    CHECK(json["first_runs"][1]["cell"] == "task=c");
}
