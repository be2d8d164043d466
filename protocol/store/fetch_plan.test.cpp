#include "protocol/store/fetch_plan.hpp"

#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <random>

using namespace chalk;
using namespace chalk::store;

namespace {

std::string small_chunk(std::size_t number) {
    return fmt::format("chunk {}", number);
}

/// One file a chunk, and each a second time.
tree_manifest tree_of(std::size_t chunks) {
    std::vector<tree_entry> entries;
    for (std::size_t i = 0; i < 2 * chunks; ++i) {
        const auto data = small_chunk(i % chunks);
        entries.push_back({fmt::format("{:03}", i), entry_kind::file, false, {data.size()}, {name_chunk(data)}, {}});
    }
    return tree_manifest::make(std::move(entries)).value();
}

bool nothing_is_there(const chunk_need&) {
    return false;
}

} // namespace

TEST_CASE("a plan asks for each chunk once, in the tree's order, with no more in flight than it may") {
    fetch_plan plan(tree_of(5), nothing_is_there, {2, 3});
    CHECK(plan.left() == bytes{35});
    CHECK(plan.next() == std::vector{name_chunk(small_chunk(0)), name_chunk(small_chunk(1))});
    CHECK(plan.next().empty());
    CHECK(plan.arrived(name_chunk(small_chunk(1)), small_chunk(1)) == arrival::wanted);
    CHECK(plan.next() == std::vector{name_chunk(small_chunk(2))});
    CHECK(plan.arrived(name_chunk(small_chunk(0)), small_chunk(0)) == arrival::wanted);
    CHECK(plan.arrived(name_chunk(small_chunk(2)), small_chunk(2)) == arrival::wanted);
    CHECK(plan.next().size() == 2);
    CHECK_FALSE(plan.done());
    CHECK(plan.arrived(name_chunk(small_chunk(3)), small_chunk(3)) == arrival::wanted);
    CHECK(plan.arrived(name_chunk(small_chunk(4)), small_chunk(4)) == arrival::wanted);
    CHECK(plan.done());
    CHECK(plan.left() == bytes{0});
    CHECK(plan.next().empty());
}

TEST_CASE("a plan asks for nothing that is there, so that a new one goes on where a killed process was") {
    const auto there = [](const chunk_need& one) { return one.name != name_chunk(small_chunk(1)); };
    fetch_plan plan(tree_of(3), there, {});
    CHECK(plan.next() == std::vector{name_chunk(small_chunk(1))});
    fetch_plan nothing(tree_of(3), [](const chunk_need&) { return true; }, {});
    CHECK(nothing.done());
    const chunk_need one{name_chunk(small_chunk(1)), {7}};
    fetch_plan missed(std::vector{one, one}, {});
    CHECK(missed.next().size() == 1);
    CHECK(missed.arrived(one.name, small_chunk(1)) == arrival::wanted);
    CHECK(missed.done());
}

TEST_CASE("what was in flight when a connection was cut is asked for again, in order, and charged nothing") {
    fetch_plan plan(tree_of(4), nothing_is_there, {3, 1});
    for (int i = 0; i < 10; ++i) {
        CHECK(plan.next() ==
              std::vector{name_chunk(small_chunk(0)), name_chunk(small_chunk(1)), name_chunk(small_chunk(2))});
        plan.connection_lost();
        CHECK(plan.in_flight() == 0);
    }
    // One that is still on its way from the old connection was not asked for on this one.
    CHECK(plan.arrived(name_chunk(small_chunk(0)), small_chunk(0)) == arrival::unasked);
    CHECK_FALSE(plan.trouble());
}

TEST_CASE("a chunk that arrives damaged is asked for again, so many times and no more") {
    fetch_plan plan(tree_of(2), nothing_is_there, {1, 3});
    const auto name = name_chunk(small_chunk(0));
    for (const auto* bad : {"chunk 1", "chunk", ""}) {
        CHECK_FALSE(plan.trouble());
        REQUIRE(plan.next() == std::vector{name});
        CHECK(plan.arrived(name, bad) == (*bad == 0 ? arrival::given_up : arrival::damaged));
    }
    REQUIRE(plan.trouble());
    CHECK(plan.trouble()->message == fmt::format("chunk {} arrived damaged 3 times", name.hex()));
    CHECK(plan.next().empty());
    CHECK_FALSE(plan.done());
}

TEST_CASE("a chunk of the right sum and a size that the tree does not give is not taken") {
    fetch_plan plan({{name_chunk("four"), {5}}}, {1, 1});
    REQUIRE(plan.next().size() == 1);
    CHECK(plan.arrived(name_chunk("four"), "four") == arrival::given_up);
}

TEST_CASE("what nobody asked for is dropped, and a source that has not got a chunk ends the plan") {
    fetch_plan plan(tree_of(2), nothing_is_there, {1, 3});
    CHECK(plan.arrived(name_chunk("x"), "x") == arrival::unasked);
    CHECK(plan.arrived(name_chunk(small_chunk(0)), small_chunk(0)) == arrival::unasked);
    plan.refused(name_chunk(small_chunk(0)), "gone");
    CHECK_FALSE(plan.trouble()); // it was not asked either
    REQUIRE(plan.next().size() == 1);
    plan.refused(name_chunk(small_chunk(0)), "gone");
    REQUIRE(plan.trouble());
    CHECK(plan.trouble()->message.find("cannot be had: gone") != std::string::npos);
    CHECK_FALSE(plan.done());
}

TEST_CASE("whatever is cut, damaged or late, a plan ends with every chunk taken once, or with its trouble") {
    for (unsigned seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        constexpr std::size_t chunks = 20;
        std::map<chunk_digest, std::string> contents;
        for (std::size_t i = 0; i < chunks; ++i) {
            contents[name_chunk(small_chunk(i))] = small_chunk(i);
        }
        fetch_plan plan(tree_of(chunks), nothing_is_there, {4, 3});
        std::vector<chunk_digest> in_flight;
        std::map<chunk_digest, int> taken;
        int steps = 0;
        while (!plan.done() && !plan.trouble() && ++steps < 10'000) {
            const auto asked = plan.next();
            in_flight.insert(in_flight.end(), asked.begin(), asked.end());
            REQUIRE(in_flight.size() == plan.in_flight());
            REQUIRE(in_flight.size() <= 4);
            std::shuffle(in_flight.begin(), in_flight.end(), random);
            if (random() % 10 == 0) {
                plan.connection_lost();
                in_flight.clear();
                continue;
            }
            const auto name = in_flight.back();
            in_flight.pop_back();
            const bool bad = random() % 20 == 0;
            const auto how = plan.arrived(name, bad ? "bad" : contents.at(name));
            CHECK((how == arrival::wanted) == !bad);
            taken[name] += how == arrival::wanted ? 1 : 0;
        }
        CHECK(plan.done() == !plan.trouble().has_value());
        for (const auto& [name, times] : taken) {
            CHECK(times <= 1);
        }
        if (plan.done()) {
            CHECK(taken.size() == chunks);
        }
    }
}
