/// A run whose harness, sandbox or channel ends without a final event, or says what makes no sense.
#include "actors/run/run_machine.test.hpp"

using namespace chalk;
using namespace chalk::test;

TEST_CASE("a harness that dies without a final event is an error of class harness, with its last words") {
    run_driver d;
    d.to_running() << d.machine.harness_ended({"exit code 70", false, "terminate called"});
    CHECK(d.reports.empty()); // what it said last is still in the socket
    d << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::harness);
    CHECK(d.only_outcome().message.find("terminate called") != std::string::npos);
    REQUIRE(d.appended.size() == 1);
    CHECK(std::get<run_failed>(d.appended.front()).kind == error_class::harness);
}

TEST_CASE("a final event that was still in the socket when the sandbox died counts") {
    run_driver d;
    d.to_running() << d.machine.harness_ended(killed) << d.machine.event_added(outcome::passed())
                   << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a harness that the kernel killed for memory is an error of class sandbox that says so") {
    run_driver d;
    d.to_running() << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended({"killed by signal 9 (SIGKILL)", true, {}});
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::sandbox);
    CHECK(d.only_outcome().message.find("memory") != std::string::npos);
}

TEST_CASE("a broken channel kills the sandbox and is an error of class harness") {
    run_driver d;
    d.to_running() << d.machine.channel_ended(harness_failure("line 3 is no JSON"));
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "line 3 is no JSON"));
}

TEST_CASE("a harness whose events make no sense is killed, and that is the outcome") {
    run_driver d(run_mode{.has_channel = false, .prepare_only = false});
    d.to_running() << d.machine.harness_misbehaved(harness_failure("event 7 after event 3"))
                   << d.machine.harness_misbehaved(harness_failure("and again"));
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "event 7 after event 3"));
}

TEST_CASE("a channel that ends while the harness lives on is waited for and then killed") {
    run_driver d;
    d.to_running() << d.machine.channel_ended(std::nullopt);
    CHECK(d.kills == 0);
    d << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::harness);
}
