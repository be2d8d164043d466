#include "protocol/gateway/retry.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::gateway;

namespace {

const wall_time now = std::chrono::system_clock::from_time_t(1'000'000'000); // Sun, 09 Sep 2001 01:46:40 GMT
const retry_settings rule;

std::optional<milliseconds> after(attempt_end end, unsigned retries = 0, double random = 0) {
    return next_wait(rule, end, retries, random, now);
}

} // namespace

TEST_CASE("what may pass by itself is tried again, what the request is to blame for never") {
    for (const unsigned status : {408U, 409U, 429U, 500U, 502U, 503U, 504U, 529U, 599U}) {
        CAPTURE(status);
        CHECK(after({status, {}}));
    }
    for (const unsigned status : {200U, 400U, 401U, 402U, 403U, 404U, 413U, 422U}) {
        CAPTURE(status);
        CHECK_FALSE(after({status, {}}));
    }
    CHECK(after({std::nullopt, {}}));
}

TEST_CASE("x-should-retry wins over the status") {
    CHECK(after({400, {{"x-should-retry", "true"}}}));
    CHECK_FALSE(after({500, {{"x-should-retry", "false"}}}));
    CHECK(after({500, {{"x-should-retry", "perhaps"}}}));
}

TEST_CASE("without a word from the server the wait doubles from half a second to eight, less up to a quarter") {
    for (const auto& [retries, ms] :
         {std::pair(0U, 500), std::pair(1U, 1000), std::pair(3U, 4000), std::pair(4U, 8000), std::pair(5U, 8000)}) {
        CAPTURE(retries);
        CHECK(after({500, {}}, retries) == milliseconds(ms));
        CHECK(after({500, {}}, retries, 0.999999) == milliseconds(ms * 3 / 4));
    }
}

TEST_CASE("the attempts are bounded") {
    CHECK(after({500, {}}, rule.retries - 1));
    CHECK_FALSE(after({500, {}}, rule.retries));
    CHECK_FALSE(after({500, {{"x-should-retry", "true"}}}, rule.retries));
}

TEST_CASE("the server's own wait is kept, in milliseconds, seconds or as a date") {
    CHECK(after({429, {{"retry-after-ms", "1500"}, {"retry-after", "9"}}}) == milliseconds(1500));
    CHECK(after({429, {{"retry-after", "2"}}}) == milliseconds(2000));
    CHECK(after({429, {{"retry-after", "0.25"}}}) == milliseconds(250));
    CHECK(after({429, {{"Retry-After", "Sun, 09 Sep 2001 01:46:45 GMT"}}}) == milliseconds(5000));
    CHECK(after({429, {{"retry-after", "Sun, 09 Sep 2001 01:46:00 GMT"}}}) == milliseconds(0)); // past
    CHECK(after({429, {{"retry-after", "-3"}}}) == milliseconds(0));
    CHECK(after({429, {{"retry-after", "soon"}}}) == milliseconds(500));
    CHECK(after({429, {{"retry-after-ms", "nan"}}}) == milliseconds(500));
}

TEST_CASE("the wait that Google's servers ask for stands in the body") {
    const auto with = [](const std::string& delay) {
        return R"({"error":{"code":429,"details":[{"@type":"type.googleapis.com/google.rpc.QuotaFailure"},)"
               R"({"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":)" +
               delay + "}]}}";
    };
    CHECK(asked_wait_in_body(with(R"("3s")")) == milliseconds(3000));
    CHECK(asked_wait_in_body(with(R"("3.4200001s")")) == milliseconds(3421));
    CHECK(asked_wait_in_body("[" + with(R"("0s")") + "]") == milliseconds(0));
    CHECK(asked_wait_in_body(with(R"("-1s")")) == milliseconds(0));
    CHECK(asked_wait_in_body(with(R"("1e300s")")) > rule.longest_asked);
    for (const auto& none :
         {with("3"), with(R"("3")"), with(R"("s")"), with(R"("soons")"), with("null"), std::string("{}"), std::string(),
          std::string("<html>"), std::string(R"({"error":"3s"})"),
          std::string(R"({"error":{"details":[7,{"retryDelay":"3s"}]}})"), std::string(100'000, '[')}) {
        CAPTURE(none.substr(0, 100));
        CHECK_FALSE(asked_wait_in_body(none));
    }
    for (const unsigned status : {429U, 503U}) {
        CHECK(may_ask_in_body(status, {}));
        CHECK_FALSE(may_ask_in_body(status, {{"Retry-After", "1"}}));
        CHECK_FALSE(may_ask_in_body(status, {{"retry-after-ms", "1"}}));
    }
    CHECK_FALSE(may_ask_in_body(400, {}));
    CHECK_FALSE(may_ask_in_body(200, {}));
}

TEST_CASE("a wait that is too long to be sat out is none") {
    CHECK(after({429, {{"retry-after", "300"}}}));
    CHECK_FALSE(after({429, {{"retry-after", "301"}}}));
    CHECK_FALSE(after({429, {{"retry-after", "1e300"}}}));
}
