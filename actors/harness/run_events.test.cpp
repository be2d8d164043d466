#include "actors/harness/run_events.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

const run_events::time_point then{std::chrono::seconds(1'800'000'000)};

log_line line(std::string text) {
    return {log_level::info, "task", std::move(text)};
}

} // namespace

TEST_CASE("events are numbered without gaps, and each is told once") {
    run_events events;
    events.record(line("one"), then);
    events.log(line("two"), then);
    auto unsent = events.take_unsent();
    REQUIRE(unsent.size() == 2);
    CHECK(unsent[0]->seq == 1);
    CHECK(unsent[1]->seq == 2);
    CHECK(events.take_unsent().empty());
    events.record(line("three"), then);
    unsent = events.take_unsent();
    REQUIRE(unsent.size() == 1);
    CHECK(unsent[0]->seq == 3);
    CHECK(events.all().size() == 3);
}

TEST_CASE("nothing follows the final event") {
    run_events events;
    events.record(run_cancelled{"Ctrl-C"}, then);
    events.record(line("late"), then);
    events.log(line("later"), then);
    CHECK(events.all().size() == 1);
}

TEST_CASE("while the sink takes no lines they are counted, and a line says how many once it does") {
    run_events events;
    events.set_writable(false, then);
    events.log(line("one"), then);
    events.log(line("two"), then);
    events.record(line("recorded all the same"), then);
    CHECK(events.take_unsent().size() == 1);
    events.set_writable(true, then);
    const auto unsent = events.take_unsent();
    REQUIRE(unsent.size() == 1);
    CHECK(std::get<log_line>(unsent[0]->body).text.starts_with("2 log lines were left out"));
    events.set_writable(true, then);
    CHECK(events.take_unsent().empty());
}
