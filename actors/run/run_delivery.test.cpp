/// A run whose backend has not taken all events when all else is done.
#include "actors/run/run_machine.test.hpp"

using namespace chalk;
using namespace chalk::test;

namespace {

/// Passed, gone, recorded: nothing is open but the backend.
run_driver with_backend() {
    run_driver d(run_mode{.has_channel = true, .prepare_only = false, .undelivered = "left in /spool"});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended(killed);
    d.clean_up();
    return d;
}

} // namespace

TEST_CASE("a backend gets a moment to take the last events, and a run whose backend has all ends at once") {
    auto d = with_backend();
    CHECK(d.reports.empty());
    CHECK(d.asked<run_do::set_deadline>());
    d << d.machine.delivered({});
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark.empty());
}

TEST_CASE("a backend that was quick is not waited for") {
    run_driver d(run_mode{.has_channel = true, .prepare_only = false, .undelivered = "left"});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.delivered({})
                   << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a backend that takes too long changes no outcome: a remark says where the events are") {
    auto d = with_backend();
    d << d.machine.deadline_passed();
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark == "left in /spool");
    d << d.machine.delivered("late");
    CHECK(d.reports.size() == 1);
}

TEST_CASE("a kill does not wait for a backend") {
    auto d = with_backend();
    d << d.machine.kill("Ctrl-C twice");
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark == "left in /spool");
}
