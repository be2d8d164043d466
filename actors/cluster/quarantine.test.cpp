#include "actors/cluster/quarantine.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

constexpr quarantine_rules three{.max_errors = 3, .window = 60s, .backoff = 10s, .max_backoff = 60s};
constexpr quarantine::clock::time_point well_begun{};

/// Three errors at `now`. Returns when the probe is due.
std::optional<quarantine::clock::time_point> make_sick(quarantine& q, quarantine::clock::time_point now) {
    CHECK_FALSE(q.error(now));
    CHECK_FALSE(q.error(now));
    CHECK(q.error(now));
    return q.probe_due();
}

} // namespace

TEST_CASE("so many errors in a window put a node into quarantine, and a probe that passes lets it out") {
    quarantine q(three);
    CHECK_FALSE(q.error(well_begun));
    CHECK_FALSE(q.error(well_begun + 30s));
    CHECK_FALSE(q.error(well_begun + 61s)); // the first one has left the window
    CHECK_FALSE(q.active());
    CHECK(q.error(well_begun + 70s));
    CHECK(q.active());
    CHECK_FALSE(q.error(well_begun + 71s)); // of a run that went on
    CHECK_FALSE(q.begin_probe(well_begun + 79s));
    CHECK(q.begin_probe(well_begun + 80s));
    CHECK_FALSE(q.begin_probe(well_begun + 80s));
    CHECK_FALSE(q.probe_due());
    q.probe_ended(true, well_begun + 81s);
    CHECK_FALSE(q.active());
    CHECK_FALSE(q.error(well_begun + 82s)); // errors before the probe do not count
}

TEST_CASE("each probe that fails doubles the wait for the next, up to a bound") {
    quarantine q(three);
    auto now = *make_sick(q, well_begun);
    CHECK(now == well_begun + 10s);
    for (const auto wait : {20s, 40s, 60s, 60s}) {
        REQUIRE(q.begin_probe(now));
        q.probe_ended(false, now);
        CHECK(q.active());
        CHECK(q.probe_due() == now + wait);
        now += wait;
    }
    for (int i = 0; i < 100; ++i) {
        REQUIRE(q.begin_probe(now));
        q.probe_ended(false, now);
        now += 60s;
    }
    CHECK(q.probe_due() == now);
}

TEST_CASE("a node that is sick again soon waits longer, one that was long well does not") {
    quarantine q(three);
    auto now = *make_sick(q, well_begun);
    REQUIRE(q.begin_probe(now));
    q.probe_ended(true, now);
    CHECK(make_sick(q, now + 1s) == now + 1s + 20s);
    now += 21s;
    REQUIRE(q.begin_probe(now));
    q.probe_ended(true, now);
    CHECK(make_sick(q, now + 120s) == now + 120s + 10s);
}

TEST_CASE("the end of a probe that nobody began changes nothing") {
    quarantine q(three);
    q.probe_ended(false, well_begun);
    CHECK_FALSE(q.active());
    static_cast<void>(make_sick(q, well_begun));
    q.probe_ended(true, well_begun);
    CHECK(q.active());
}

TEST_CASE("rules of one error, or of none, quarantine at the first") {
    for (const std::size_t errors : {0U, 1U}) {
        quarantine q({.max_errors = errors});
        CHECK(q.error(well_begun));
    }
}

TEST_CASE("only errors that may be the node's fault speak of it") {
    CHECK(speaks_of_node(error_class::sandbox));
    CHECK(speaks_of_node(error_class::image));
    CHECK(speaks_of_node(error_class::harness));
    for (const auto kind : {error_class::config, error_class::task, error_class::model, error_class::timeout,
                            error_class::node_lost, error_class::budget}) {
        CHECK_FALSE(speaks_of_node(kind));
    }
}
