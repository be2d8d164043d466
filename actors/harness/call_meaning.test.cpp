#include "actors/harness/call_meaning.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::actors;
using environment::call_error;
using environment::call_error_kind;
using environment::call_result;
using environment::rpc_code;

namespace {

call_result answer_of(const char* text) {
    return {boost::system::in_place_value, json::parse(text)};
}

call_result error_with(call_error_kind kind, rpc_code code) {
    return call_error{kind, static_cast<int>(code), "the message", "the details"};
}

const call_result closed = error_with(call_error_kind::closed, rpc_code{});

} // namespace

TEST_CASE("an answer is a fact of the lifecycle, and one that makes no sense the environment's trouble") {
    const auto good = meaning_of("pre_scoring_hook", answer_of("{}"));
    REQUIRE(good);
    CHECK(std::holds_alternative<lifecycle::pre_scoring_returned>(*good));
    const auto bad = meaning_of("judge", answer_of("{}"));
    REQUIRE(bad);
    CHECK(std::get<lifecycle::trouble>(*bad).why.kind == error_class::task);
}

TEST_CASE("a failed call is trouble, but for a closed stream, whose reason is yet to come") {
    const auto failed = meaning_of("judge", error_with(call_error_kind::remote, rpc_code::student_misbehavior));
    REQUIRE(failed);
    CHECK(std::get<lifecycle::trouble>(*failed).student_misbehaved);
    CHECK_FALSE(meaning_of("judge", closed));
}

TEST_CASE("a step's solution is what the oracle runs") {
    const auto found = solution_in(answer_of(R"({"argv":["sh","solve.sh"],"env":{"A":"b"}})"), 2);
    REQUIRE(std::holds_alternative<solution_command>(found));
    CHECK(std::get<solution_command>(found).argv == std::vector<std::string>{"sh", "solve.sh"});
    CHECK(std::get<solution_command>(found).environment == std::vector<std::string>{"A=b"});
}

TEST_CASE("a step without a solution cannot be the oracle's, whichever way the environment says so") {
    const auto found = GENERATE(solution_in(answer_of(R"({"argv":null})"), 2),
                                solution_in(error_with(call_error_kind::remote, rpc_code::method_not_found), 2));
    REQUIRE(std::holds_alternative<lifecycle::trouble>(found));
    CHECK(std::get<lifecycle::trouble>(found).why.kind == error_class::config);
    CHECK(std::get<lifecycle::trouble>(found).why.message.starts_with("step 2: the environment has no solution"));
}

TEST_CASE("a solution that cannot be asked for or read is the environment's trouble") {
    const auto failed = solution_in(error_with(call_error_kind::remote, rpc_code::environment_exception), 0);
    CHECK(std::get<lifecycle::trouble>(failed).why.kind == error_class::task);
    CHECK(std::get<lifecycle::trouble>(solution_in(answer_of(R"({"argv":[]})"), 0)).why.kind == error_class::task);
    CHECK(std::holds_alternative<std::monostate>(solution_in(closed, 0)));
}
