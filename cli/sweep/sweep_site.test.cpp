#include "cli/sweep/sweep_site.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

using namespace chalk;
using namespace chalk::cli;
using namespace std::chrono_literals;

namespace {

/// A sweep of the environment without a sandbox, planned on this machine and never started.
step_result<std::unique_ptr<sweep_site>> planned(const std::string& members, const run_options& how = {},
                                                 const std::string& base = R"("use_fake_model": true)") {
    auto file = config::load_sweep_file(R"({"name": "s", "base": {"environment": "builtin:noop", )" + base + "}, " +
                                        members + "}");
    INFO((file ? "" : file.error().message));
    REQUIRE(file);
    boost::asio::io_context io;
    sweep_options asked;
    asked.how = how;
    asked.how.no_containerized = true;
    asked.folder = std::filesystem::temp_directory_path();
    asked.dry_run = true;
    return sweep_site::prepare(io, std::move(*file), asked, {});
}

} // namespace

TEST_CASE("a sweep's budget narrows what the machine has, and the scarcest of it says how many run at once") {
    const auto all = planned(R"("repeat": 1000)");
    REQUIRE(all);
    const auto each = (*all)->common().limits.reservation;
    REQUIRE((*all)->at_once() > 3);
    const auto three = planned(fmt::format(R"("repeat": 1000, "budget": {{"open_files": {}, "disk_bytes": {}}})",
                                           4 * each.open_files, 3 * each.disk.count + 1));
    REQUIRE(three);
    CHECK((*three)->at_once() == 3);
    CHECK((*three)->capacity().open_files == 4 * each.open_files);
    CHECK((*three)->capacity().memory == (*all)->capacity().memory);
    const auto more = planned(R"("budget": {"memory_bytes": 1152921504606846976, "cpus": 100000})");
    REQUIRE(more);
    // A budget adds nothing to the machine. Of the disk others take meanwhile.
    CHECK((*more)->capacity().memory == (*all)->capacity().memory);
    CHECK((*more)->capacity().milli_cpus == (*all)->capacity().milli_cpus);
}

TEST_CASE("the lower of --max-concurrent and budget.max_concurrent holds") {
    run_options how;
    CHECK_FALSE(planned(R"("repeat": 9)", how).value()->max_runs());
    CHECK(planned(R"("repeat": 9, "budget": {"max_concurrent": 5})", how).value()->max_runs() == std::size_t{5});
    how.max_concurrent = 3;
    CHECK(planned(R"("repeat": 9, "budget": {"max_concurrent": 5})", how).value()->max_runs() == std::size_t{3});
    CHECK(planned(R"("repeat": 9, "budget": {"max_concurrent": 2})", how).value()->max_runs() == std::size_t{2});
}

TEST_CASE("a budget that not even one run fits is refused by the keys that may be too small") {
    const auto none = planned(R"("budget": {"open_files": 1})");
    REQUIRE_FALSE(none);
    CHECK(none.error().code == exit_code::machine_lacks);
    CHECK(none.error().message.find("open_files") != std::string::npos);
}

TEST_CASE("a sweep of more runs than can be kept track of is refused with what to do") {
    const auto many = planned(R"("repeat": 1000000000, "axes": {"task_args.x": [1, 2, 3, 4, 5, 6, 7, 8, 9]})");
    REQUIRE_FALSE(many);
    CHECK(many.error().code == exit_code::usage);
    CHECK(many.error().message.find("lower `repeat`") != std::string::npos);
    CHECK(planned(R"("repeat": 1000000000, "axes": {"task_args.x": [1, 2, 3, 4, 5, 6, 7, 8]})"));
}

TEST_CASE("a budget of tokens or dollars needs the matching limit of a run, where a model is asked") {
    const std::string model = R"("model": "openai/m")";
    for (const auto& [budget, limit] : {std::pair{R"("budget": {"tokens": 10})", R"("max_run_total_tokens": 5)"},
                                        std::pair{R"("budget": {"usd": 1})", R"("max_run_usd": 0.5)"}}) {
        INFO(budget);
        const auto refused = planned(budget, {}, model);
        REQUIRE_FALSE(refused);
        CHECK(refused.error().code == exit_code::usage);
        CHECK(refused.error().message.find("limits.max_run_") != std::string::npos);
        CHECK(planned(budget, {}, model + R"(, "limits": {)" + limit + "}"));
        CHECK(planned(budget)); // a fake model costs nothing
    }
}

TEST_CASE("an order has its cell's label, its attempt's folder and the sweep's deadlines") {
    auto site =
        planned(R"("axes": {"task_args.x": [1, 2]}, "repeat": 2, "deadlines": {"score_s": 3, "run_s": 9})").value();
    const auto order = site->order({1, 1}, attempt_number{3});
    CHECK(order->key == actors::run_key{1, 1});
    CHECK(order->cell_label == "task_args.x=2");
    CHECK(order->config.id.str().ends_with(".1"));
    CHECK(order->config.transcript_file.string().ends_with(order->config.id.str() + "/attempt-3/transcript.json"));
    CHECK(order->deadlines.score == 3'000ms);
    CHECK(order->deadlines.whole_run == 9'000ms);
    CHECK_FALSE(order->deadlines.agent);
    CHECK_FALSE(order->refused);
    const auto told = site->describe(1);
    CHECK(told.label == "task_args.x=2");
    CHECK(order->config.id.str().find(told.id) != std::string::npos);
    CHECK(told.config_digest.starts_with("sha256:"));
    CHECK(told.config_digest != site->describe(0).config_digest);
}

TEST_CASE("a sweep's deadlines replace chalk's own, and a short setup shortens the sandbox's start") {
    const auto own = actors::run_deadlines{};
    const auto none = deadlines_of({});
    CHECK(none.prepare == own.prepare);
    CHECK(none.start == own.start);
    CHECK_FALSE(none.setup);
    CHECK(none.whole_run == own.whole_run);
    CHECK(none.remove == own.remove);
    config::deadline_rules rules;
    rules.prepare = 1'000ms;
    rules.setup = 2'000ms;
    rules.agent = 3'000ms;
    rules.score = 4'000ms;
    rules.teardown = 5'000ms;
    rules.run = 6'000ms;
    const auto all = deadlines_of(rules);
    CHECK(all.prepare == 1'000ms);
    CHECK(all.setup == 2'000ms);
    CHECK(all.start == 2'000ms);
    CHECK(all.agent == 3'000ms);
    CHECK(all.score == 4'000ms);
    CHECK(all.exit_after_final == 5'000ms);
    CHECK(all.remove == 5'000ms);
    CHECK(all.whole_run == 6'000ms);
    rules.setup = 3'600'000ms;
    CHECK(deadlines_of(rules).start == own.start); // which is enough for one sandbox
}
