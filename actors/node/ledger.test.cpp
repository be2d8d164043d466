#include "actors/node/ledger.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;

namespace {

constexpr resources node_size{.memory = 8_GiB, .disk = 10_GiB, .processes = 100, .milli_cpus = 2000, .open_files = 50};
constexpr resources small{.memory = 1_GiB, .disk = 1_GiB, .processes = 10, .milli_cpus = 100, .open_files = 5};
constexpr resources big{.memory = 6_GiB, .disk = 1_GiB, .processes = 10, .milli_cpus = 100, .open_files = 5};

} // namespace

TEST_CASE("the ledger refuses a run that exceeds the node's disk, and names the disk") {
    ledger l(node_size);
    resources wanted = small;
    wanted.disk = 11_GiB;
    const auto answer = l.request(ticket{1}, wanted);
    REQUIRE(!answer);
    CHECK(answer.error().kind == error_class::config);
    CHECK(answer.error().message.find("bytes of disk") != std::string::npos);
    CHECK(l.used() == resources{});
    CHECK(l.waiting() == 0);
}

TEST_CASE("the ledger refuses for each resource alone what can never fit") {
    const auto refused = [](auto change) {
        ledger l(node_size);
        resources wanted = small;
        change(wanted);
        return !l.request(ticket{1}, wanted);
    };
    CHECK(refused([](resources& r) { r.memory = 8_GiB + bytes{1}; }));
    CHECK(refused([](resources& r) { r.processes = 101; }));
    CHECK(refused([](resources& r) { r.milli_cpus = 2001; }));
    CHECK(refused([](resources& r) { r.open_files = 51; }));
    CHECK_FALSE(refused([](resources& r) { r.memory = 8_GiB; }));
}

TEST_CASE("a run that does not fit now waits and is admitted when another's reservation is released") {
    ledger l(node_size);
    REQUIRE(l.request(ticket{1}, big).value() == admission::admitted);
    REQUIRE(l.request(ticket{2}, big).value() == admission::queued);
    CHECK(l.release(ticket{1}) == std::vector<ticket>{ticket{2}});
    CHECK(l.used() == big);
    CHECK(l.release(ticket{2}).empty());
    CHECK(l.used() == resources{});
}

TEST_CASE("a small run never overtakes a big one that waits") {
    ledger l(node_size);
    REQUIRE(l.request(ticket{1}, big).value() == admission::admitted);
    REQUIRE(l.request(ticket{2}, big).value() == admission::queued);
    REQUIRE(l.request(ticket{3}, small).value() == admission::queued);
    CHECK(l.release(ticket{1}) == std::vector<ticket>{ticket{2}, ticket{3}});
}

TEST_CASE("a run that leaves the queue lets those behind it in") {
    ledger l(node_size);
    REQUIRE(l.request(ticket{1}, big).value() == admission::admitted);
    REQUIRE(l.request(ticket{2}, big).value() == admission::queued);
    REQUIRE(l.request(ticket{3}, small).value() == admission::queued);
    CHECK(l.release(ticket{2}) == std::vector<ticket>{ticket{3}});
}

TEST_CASE("releasing twice or an unknown ticket changes nothing") {
    ledger l(node_size);
    REQUIRE(l.request(ticket{1}, small).value() == admission::admitted);
    REQUIRE(l.request(ticket{2}, small).value() == admission::admitted);
    CHECK(l.release(ticket{1}).empty());
    CHECK(l.release(ticket{1}).empty());
    CHECK(l.release(ticket{9}).empty());
    CHECK(l.used() == small);
    CHECK(l.admitted() == 1);
}

TEST_CASE("no more runs are admitted at once than the cap says") {
    ledger l(node_size, 1);
    REQUIRE(l.request(ticket{1}, small).value() == admission::admitted);
    REQUIRE(l.request(ticket{2}, small).value() == admission::queued);
    CHECK(l.release(ticket{1}) == std::vector<ticket>{ticket{2}});
    CHECK(!ledger(node_size, 0).request(ticket{1}, small));
}

TEST_CASE("over-commit stretches memory and cpus and nothing else") {
    const resources wide = overcommitted(node_size, 2.5);
    CHECK(wide.memory == 20_GiB);
    CHECK(wide.milli_cpus == 5000);
    CHECK(wide.disk == node_size.disk);
    CHECK(wide.processes == node_size.processes);
    CHECK(overcommitted(node_size, 0.5) == node_size);
}

TEST_CASE("a ledger that is closed lets nobody in, and those who came meanwhile when it opens") {
    ledger book(node_size);
    CHECK(book.set_closed(true).empty());
    CHECK(book.request(ticket{1}, small).value() == admission::queued);
    CHECK(book.request(ticket{2}, small).value() == admission::queued);
    CHECK(book.set_closed(false) == std::vector{ticket{1}, ticket{2}});
}

TEST_CASE("a new cap on runs holds from then on, and a wider one lets in those who wait") {
    ledger book(node_size, 1);
    CHECK(book.request(ticket{1}, small).value() == admission::admitted);
    CHECK(book.request(ticket{2}, small).value() == admission::queued);
    CHECK(book.request(ticket{3}, small).value() == admission::queued);
    CHECK(book.set_max_runs(2) == std::vector{ticket{2}});
    CHECK(book.set_max_runs(std::nullopt) == std::vector{ticket{3}});
}
