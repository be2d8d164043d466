/// A run whose parts take too long.
#include "actors/run/run_machine.test.hpp"

using namespace chalk;
using namespace chalk::test;

TEST_CASE("each part of a harness's work has its own deadline, and what it says does not prolong it") {
    run_deadlines deadlines;
    deadlines.setup = milliseconds(100);
    deadlines.agent = milliseconds(200);
    deadlines.score = milliseconds(300);
    const auto asked = [](const run_commands& commands) -> std::optional<milliseconds> {
        for (const auto& c : commands) {
            if (const auto* d = std::get_if<run_do::set_deadline>(&c)) {
                return d->after;
            }
        }
        return std::nullopt;
    };
    run_machine m({}, deadlines);
    static_cast<void>(m.begin());
    static_cast<void>(m.prepared(fine));
    CHECK(asked(m.started(fine)) == milliseconds(100));
    CHECK(m.event_added(std::nullopt).empty());
    CHECK(asked(m.event_added(std::nullopt, run_phase::agent)) == milliseconds(200));
    CHECK(m.event_added(std::nullopt).empty());
    CHECK(asked(m.event_added(std::nullopt, run_phase::score)) == milliseconds(300));
    static_cast<void>(m.deadline_passed());
    static_cast<void>(m.channel_ended(std::nullopt));
    const auto end = m.harness_ended(killed);
    const auto* last = std::get_if<run_do::append>(&end.front());
    REQUIRE(last != nullptr);
    CHECK(std::get<run_failed>(last->body).kind == error_class::timeout);
    CHECK(std::get<run_failed>(last->body).message.find("scoring a step") != std::string::npos);
}

TEST_CASE("a part without a deadline of its own is held by the run's") {
    run_driver d;
    d.to_running();
    CHECK(d.asked<run_do::clear_deadline>());
    CHECK_FALSE(d.asked<run_do::set_deadline>());
}

TEST_CASE("each wait has a deadline, and passing it is an error of class timeout") {
    SECTION("prepare") {
        run_driver d;
        d << d.machine.begin() << d.machine.deadline_passed() << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
        d << d.machine.prepared(fine);
        CHECK(d.last.empty());
    }
    SECTION("start") {
        run_driver d;
        d << d.machine.begin() << d.machine.prepared(fine) << d.machine.deadline_passed() << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
        d << d.machine.started(fine); // its sandbox is dropped, which kills and removes it
        CHECK(d.last.empty());
    }
    SECTION("first event") {
        run_driver d;
        d << d.machine.begin() << d.machine.prepared(fine) << d.machine.started(fine) << d.machine.deadline_passed();
        CHECK(d.kills == 1);
        d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("whole run") {
        run_driver d;
        d.to_running() << d.machine.deadline_passed(deadline_kind::whole) << d.machine.harness_ended(killed)
                       << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("recording") {
        run_driver d;
        d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                       << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean)
                       << d.machine.deadline_passed();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
}

TEST_CASE("a harness that lingers after its final event is killed, and the outcome stands") {
    run_driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.recorded(fine)
                   << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean);
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a sandbox that survives its kill does not hold up the report") {
    run_driver d;
    d.to_running() << d.machine.kill("second Ctrl-C") << d.machine.deadline_passed();
    CHECK(d.removes == 1);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("second Ctrl-C"));
    CHECK(d.reports.front().remark.find("did not end") != std::string::npos);
}

TEST_CASE("of a part that took too long its name and its deadline are said") {
    run_deadlines deadlines;
    deadlines.first_event = milliseconds(2'500);
    CHECK(took_too_long(deadlines, run_phase::setup).message == "the harness said nothing within 2.5 s of its start");
    deadlines.setup = milliseconds(3'000);
    CHECK(took_too_long(deadlines, run_phase::setup).message == "the harness did not reach the first step within 3 s");
    deadlines.agent = milliseconds(60'000);
    CHECK(took_too_long(deadlines, run_phase::agent).message == "the agent's work on a step took longer than 60 s");
    CHECK(took_too_long("the run", milliseconds(1'000)).message == "the run took longer than 1 s");
    CHECK(took_too_long("the run", milliseconds(1'000)).kind == error_class::timeout);
}
