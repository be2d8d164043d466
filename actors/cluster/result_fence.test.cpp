#include "actors/cluster/result_fence.hpp"

#include "tests/support/catch.hpp"

#include <random>
#include <set>

using namespace chalk;
using namespace chalk::actors;

namespace {

using verdict = result_standing;
constexpr run_key one_run{3, 1};

result_fence new_fence(std::uint64_t epoch = 1, const std::vector<assignment_name>& open = {}) {
    return result_fence::open(epoch, open, nullptr).value();
}

} // namespace

TEST_CASE("a result counts once, and the same result again is the one that was taken") {
    auto fence = new_fence();
    const auto given = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.accept(given) == verdict::counts);
    CHECK(fence.accept(given) == verdict::repeated);
    CHECK(fence.accept(given) == verdict::repeated);
    CHECK(fence.kept_results() == 1);
    fence.forget(given);
    CHECK(fence.kept_results() == 0);
    CHECK(fence.accept(given) == verdict::evidence);
}

TEST_CASE("a late result of a lost attempt is evidence, before and after the next attempt's") {
    auto fence = new_fence();
    const auto lost = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.give_up(lost));
    CHECK_FALSE(fence.give_up(lost));
    CHECK(fence.accept(lost) == verdict::evidence);
    const auto next = fence.assign(one_run, attempt_number{2}).value();
    CHECK(next.token > lost.token);
    CHECK(fence.accept(lost) == verdict::evidence);
    CHECK(fence.accept(next) == verdict::counts);
    CHECK(fence.accept(lost) == verdict::evidence);
}

TEST_CASE("an attempt that is assigned again under its number has another token") {
    auto fence = new_fence();
    const auto given_back = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.give_up(given_back));
    const auto again = fence.assign(one_run, attempt_number{1}).value();
    CHECK(fence.accept(given_back) == verdict::evidence);
    CHECK(fence.accept(again) == verdict::counts);
}

TEST_CASE("a run has one open assignment at a time") {
    auto fence = new_fence();
    REQUIRE(fence.assign(one_run, attempt_number{1}));
    const auto second = fence.assign(one_run, attempt_number{2});
    REQUIRE_FALSE(second);
    CHECK(second.error().kind == error_class::harness);
}

TEST_CASE("a result of what was never assigned is foreign") {
    auto fence = new_fence();
    auto wrong = fence.assign(one_run, attempt_number{1}).value();
    const auto right = wrong;
    wrong.attempt = attempt_number{2};
    CHECK(fence.accept(wrong) == verdict::foreign);
    CHECK(fence.accept({one_run, attempt_number{1}, {1, 2}}) == verdict::foreign);
    CHECK(fence.accept({one_run, attempt_number{1}, {2, 1}}) == verdict::foreign);
    CHECK(fence.accept({one_run, attempt_number{1}, {}}) == verdict::foreign);
    CHECK(fence.accept(right) == verdict::counts);
    CHECK(fence.accept(wrong) == verdict::foreign);
    CHECK(fence.accept({{9, 9}, attempt_number{1}, right.token}) == verdict::foreign);
}

TEST_CASE("after a restart open assignments count, tokens grow on, and the journal knows what was taken") {
    auto before = new_fence();
    const auto kept = before.assign({0, 0}, attempt_number{1}).value();
    const auto taken = before.assign({0, 1}, attempt_number{1}).value();
    CHECK(before.accept(taken) == verdict::counts);
    auto after = result_fence::open(2, {kept}, [&](const assignment_name& what) { return what == taken; }).value();
    CHECK(after.accept(taken) == verdict::repeated);
    CHECK(after.assign({0, 2}, attempt_number{1}).value().token > taken.token);
    CHECK(after.accept(kept) == verdict::counts);
}

TEST_CASE("a journal whose assignments are not older than the coordinator, or are two for one run, is refused") {
    CHECK_FALSE(result_fence::open(2, {{one_run, attempt_number{1}, {2, 1}}}, nullptr));
    CHECK_FALSE(
        result_fence::open(3, {{one_run, attempt_number{1}, {1, 1}}, {one_run, attempt_number{2}, {1, 2}}}, nullptr));
}

TEST_CASE("whatever is lost, repeated and restarted, no run has more than one result that counts") {
    std::mt19937 dice(7);
    const auto roll = [&](std::size_t sides) { return std::uniform_int_distribution<std::size_t>(0, sides - 1)(dice); };
    std::uint64_t epoch = 1;
    auto fence = new_fence(epoch);
    std::vector<assignment_name> all; // every name that nodes may still send
    std::map<run_key, std::uint32_t> attempts;
    std::map<run_key, assignment_name> open;
    std::map<run_key, assignment_name> counted;
    std::set<fencing_token> tokens;
    bool sound = true;
    for (int i = 0; i < 50'000 && sound; ++i) {
        const run_key run{roll(20), roll(20)};
        const auto found = open.find(run);
        const auto action = roll(100);
        if (action < 40 && found == open.end() && !counted.contains(run)) {
            const auto made = fence.assign(run, attempt_number{++attempts[run]}).value();
            sound = tokens.insert(made.token).second && made.token == *tokens.rbegin();
            open.emplace(run, made);
            all.push_back(made);
        } else if (action < 55 && found != open.end()) {
            sound = fence.give_up(found->second);
            open.erase(found);
        } else if (action < 99 && !all.empty()) {
            const auto& name = all[roll(all.size())];
            const bool is_open = open.contains(name.run) && open.at(name.run) == name;
            const auto said = fence.accept(name);
            sound = (said == verdict::counts) == is_open && said != verdict::foreign;
            if (said == verdict::counts) {
                open.erase(name.run);
                sound = sound && counted.emplace(name.run, name).second;
            } else {
                const bool before = counted.contains(name.run) && counted.at(name.run) == name;
                sound = sound && (said == verdict::repeated) == before;
            }
        } else {
            std::vector<assignment_name> journalled;
            for (const auto& [key, name] : open) {
                journalled.push_back(name);
            }
            fence = result_fence::open(++epoch, journalled, [&](const assignment_name& what) {
                        const auto c = counted.find(what.run);
                        return c != counted.end() && c->second == what;
                    }).value();
        }
    }
    CHECK(sound);
    CHECK(counted.size() == 400);
    CHECK(epoch > 100);
}
