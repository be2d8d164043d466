/// A run that somebody wants to end: cancelled, killed, cut off.
#include "actors/run/run_machine.test.hpp"

using namespace chalk;
using namespace chalk::test;

TEST_CASE("a run that is cut off ends as its failure says, wherever it is") {
    const auto sealed = timeout_failure("the sweep is sealed");
    SECTION("before it runs") {
        run_driver d;
        d << d.machine.begin() << d.machine.cut_off(sealed) << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("while it runs") {
        run_driver d;
        d.to_running() << d.machine.cut_off(sealed);
        CHECK(d.kills == 1);
        d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome() == outcome::error(error_class::timeout, "the sweep is sealed"));
    }
    SECTION("after its outcome") {
        run_driver d;
        d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.cut_off(sealed);
        CHECK(d.last.empty());
    }
}

TEST_CASE("a cancelled run is asked, then killed, and ends as cancelled") {
    run_driver d;
    d.to_running() << d.machine.cancel("Ctrl-C");
    CHECK(d.asked<run_do::cancel>());
    CHECK(d.kills == 0);
    d << d.machine.cancel("again");
    CHECK(d.last.empty());
    d << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}

TEST_CASE("a harness that cancels in order says so itself") {
    run_driver d;
    d.to_running() << d.machine.cancel("Ctrl-C") << d.machine.event_added(outcome::cancelled("Ctrl-C"))
                   << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended({"exit code 0", false, {}});
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
    CHECK(d.appended.empty());
}

TEST_CASE("a run that is cancelled before it began never starts") {
    run_driver d;
    d << d.machine.cancel("Ctrl-C") << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
    d << d.machine.begin();
    CHECK(d.last.empty());
}

TEST_CASE("a run that is cancelled while its sandbox starts kills it as soon as there is one") {
    run_driver d;
    d << d.machine.begin() << d.machine.prepared(fine) << d.machine.cancel("Ctrl-C") << d.machine.started(fine);
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}

TEST_CASE("a cancel after the final event changes nothing") {
    run_driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.cancel("Ctrl-C");
    CHECK(d.last.empty());
    d << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("prepare-only announces once, writes no transcript, and ends when it is cancelled") {
    run_driver d(run_mode{.has_channel = true, .prepare_only = true});
    d.to_running() << d.machine.harness_prepared();
    CHECK(d.asked<run_do::announce_prepared>());
    d << d.machine.harness_prepared();
    CHECK(d.last.empty());
    d << d.machine.cancel("Ctrl-C") << d.machine.event_added(outcome::cancelled("Ctrl-C"))
      << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed) << d.machine.removed(clean);
    CHECK(d.records == 0);
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}
