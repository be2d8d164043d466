#include "protocol/model/dialect/provider_error.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::model;
using Catch::Matchers::Contains;

namespace {

turn_failure of(unsigned status, std::string body) {
    return failure_of_response(status, std::move(body), "req_head");
}

} // namespace

TEST_CASE("a refused request says status, code, message and request, in each provider's form", "[dialect]") {
    CHECK(
        of(401, R"({"error":{"message":"bad key","type":"auth","param":null,"code":"invalid_api_key"}})").why.message ==
        "HTTP 401: invalid_api_key: bad key (request req_head)");
    CHECK(of(404, R"({"type":"error","error":{"type":"not_found_error","message":"no"},"request_id":"req_body"})")
              .why.message == "HTTP 404: not_found_error: no (request req_body)");
    CHECK(of(429, R"([{"error":{"code":429,"message":"quota","status":"RESOURCE_EXHAUSTED"}}])").why.message ==
          "HTTP 429: RESOURCE_EXHAUSTED: quota (request req_head)");
    CHECK_THAT(of(502, "<html>bad gateway</html>").why.message, Contains("<html>"));
    CHECK_THAT(of(500, "").why.message, Contains("an empty body"));
    CHECK_THAT(of(400, R"({"detail":"odd"})").why.message, Contains("odd"));
    CHECK_THAT(of(400, R"({"error":["odd"]})").why.message, Contains("odd"));
    CHECK(of(400, std::string(1U << 20U, '\xff')).why.message.size() < 10'000);
    CHECK(of(429, "{}").kind == turn_failure::what::ended);
}

TEST_CASE("a conversation that is too long is told apart, however the provider says so", "[dialect]") {
    const std::pair<unsigned, const char*> overflows[] = {
        {400, R"({"error":{"message":"m","type":"invalid_request_error","code":"context_length_exceeded"}})"},
        {400, R"({"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 > 8"}})"},
        {413, R"({"type":"error","error":{"type":"request_too_large","message":"m"}})"},
        {413, ""},
        {400, R"({"error":{"code":400,"message":"The input token count (9) exceeds the maximum number of tokens )"
              R"(allowed (8).","status":"INVALID_ARGUMENT"}})"},
        {400, R"({"object":"error","message":"This model's maximum context length is 8 tokens","code":400})"}};
    for (const auto& [status, body] : overflows) {
        INFO(body);
        CHECK(of(status, body).kind == turn_failure::what::context_overflow);
    }
    CHECK(of(400, R"({"error":{"message":"max_tokens is too large","code":"invalid_value"}})").kind ==
          turn_failure::what::ended);
}

TEST_CASE("the gateway's word that the budget is spent is told apart, in each API's form", "[dialect]") {
    CHECK(of(402, R"({"error":{"message":"spent","type":"t","code":"token_budget_exhausted"}})").kind ==
          turn_failure::what::token_budget);
    CHECK(of(402, R"({"type":"error","error":{"type":"t","message":"token_budget_exhausted: spent"}})").kind ==
          turn_failure::what::token_budget);
    CHECK(of(402, R"({"type":"error","error":{"type":"t","message":"usd_budget_exhausted: spent"}})").kind ==
          turn_failure::what::usd_budget);
    CHECK(of(402, R"({"error":{"code":402,"message":"usd_budget_exhausted: spent","status":"FAILED_PRECONDITION"}})")
              .kind == turn_failure::what::usd_budget);
    CHECK(of(402, R"({"error":{"message":"the account is empty"}})").kind == turn_failure::what::ended);
    CHECK(of(400, R"({"error":{"code":"usd_budget_exhausted"}})").kind == turn_failure::what::ended);
}
