#include "actors/run/run_machine.test.hpp"

#include <random>

using namespace chalk;
using namespace chalk::test;

TEST_CASE("a run that goes well is prepared, started, recorded, removed and reported as its final event says") {
    run_driver d;
    d << d.machine.begin();
    CHECK(d.asked<run_do::prepare>());
    d << d.machine.prepared(fine);
    CHECK(d.asked<run_do::start>());
    d << d.machine.started(fine);
    CHECK(d.machine.takes_events());
    d << d.machine.event_added(std::nullopt);
    d << d.machine.event_added(outcome::passed());
    CHECK(d.asked<run_do::record>());
    CHECK_FALSE(d.machine.takes_events());
    d << d.machine.recorded(fine);
    CHECK(d.reports.empty());
    d << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended({"exit code 0", false, {}});
    CHECK(d.asked<run_do::remove>());
    d << d.machine.removed(clean);
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.appended.empty());
    CHECK(d.kills == 0);
}

TEST_CASE("an outcome is reported only when its transcript is on disk") {
    run_driver d;
    d.to_running() << d.machine.event_added(outcome::failed()) << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended(killed) << d.machine.removed(clean);
    CHECK(d.reports.empty());
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::failed());
}

TEST_CASE("a transcript that cannot be written makes the run an error") {
    run_driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                   << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean)
                   << d.machine.recorded(harness_failure("no space left"));
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "no space left"));
}

TEST_CASE("a run that cannot begin ends as the failure says, with a transcript") {
    run_driver d;
    d << d.machine.refuse(config_failure("port 9000 is taken")) << d.machine.begin();
    CHECK(d.records == 1);
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::error(error_class::config, "port 9000 is taken"));
}

TEST_CASE("a failed preparation ends the run with the failure's own class, and nothing is removed") {
    run_driver d;
    d << d.machine.begin() << d.machine.prepared(failure{error_class::image, "no such file"});
    CHECK(d.appended.size() == 1);
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::error(error_class::image, "no such file"));
    CHECK(d.removes == 0);
}

TEST_CASE("a sandbox that cannot start ends the run as the failure says") {
    run_driver d;
    d << d.machine.begin() << d.machine.prepared(fine) << d.machine.started(sandbox_failure("no memory cgroup"))
      << d.machine.recorded(fine);
    CHECK(d.only_outcome().kind == error_class::sandbox);
}

TEST_CASE("a harness in this process needs no channel to end") {
    run_driver d(run_mode{.has_channel = false, .prepare_only = false});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended({"normal", false, {}});
    CHECK(d.removes == 1);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("kept files and leftovers are remarks, not outcomes") {
    run_driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                   << d.machine.channel_ended(std::nullopt) << d.machine.recorded(fine)
                   << d.machine.removed(std::optional<std::filesystem::path>("/kept"));
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark.find("/kept") != std::string::npos);
}

TEST_CASE("whatever facts come in whatever order, a run reports once, records at most once, removes at most once") {
    std::mt19937 random(7);
    for (int round = 0; round < 20'000; ++round) {
        run_driver d(run_mode{.has_channel = random() % 2 == 0,
                              .prepare_only = random() % 5 == 0,
                              .undelivered = random() % 3 == 0 ? "left" : ""});
        auto& m = d.machine;
        for (int step = 0; step < 40; ++step) {
            switch (random() % 15) {
            case 0:
                d << m.begin();
                break;
            case 1:
                d << m.prepared(fine);
                break;
            case 2:
                d << m.started(fine);
                break;
            case 3:
                d << m.event_added(std::nullopt);
                break;
            case 4:
                d << m.event_added(outcome::passed());
                break;
            case 5:
                d << m.channel_ended(std::nullopt);
                break;
            case 6:
                d << m.channel_ended(harness_failure("broken"));
                break;
            case 7:
                d << m.harness_ended(killed);
                break;
            case 8:
                random() % 4 == 0 ? d << m.cancel("c") : d;
                break;
            case 9:
                random() % 4 == 0 ? d << m.kill("k") : d;
                break;
            case 10:
                d << m.removed(clean);
                break;
            case 11:
                d << m.recorded(fine);
                break;
            case 12:
                d << m.harness_prepared();
                break;
            case 13:
                d << m.delivered({});
                break;
            default:
                d << (random() % 4 == 0 ? m.deadline_passed() : run_commands{});
                break;
            }
        }
        // However it stands, deadlines alone lead to the end.
        d << m.begin();
        for (int step = 0; step < 12; ++step) {
            d << m.deadline_passed();
        }
        REQUIRE(d.reports.size() == 1);
        REQUIRE(d.records <= 1);
        REQUIRE(d.removes <= 1);
        REQUIRE(d.appended.size() <= 1);
        REQUIRE(m.where() == run_machine::stage::ended);
    }
}
