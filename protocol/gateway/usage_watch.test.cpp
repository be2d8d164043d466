#include "protocol/gateway/usage_watch.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::gateway;

namespace {

/// In one piece, byte by byte, and in sevens: the answer must be the same.
usage_watch::verdict count(api which, bool stream, const std::string& text, std::size_t request = 400) {
    usage_watch whole(which, stream);
    whole.see(text);
    const auto expected = whole.finish(request);
    for (const std::size_t step : {1U, 7U}) {
        usage_watch pieces(which, stream);
        for (std::size_t at = 0; at < text.size(); at += step) {
            pieces.see(std::string_view(text).substr(at, step));
        }
        const auto found = pieces.finish(request);
        CHECK(found.estimated == expected.estimated);
        CHECK(found.count.tokens.input == expected.count.tokens.input);
        CHECK(found.count.tokens.output == expected.count.tokens.output);
    }
    return expected;
}

} // namespace

TEST_CASE("chat completions count by their last chunk") {
    const auto found = count(api::chat_completions, true,
                             ": a comment\r\ndata: {\"choices\":[{\"delta\":{\"content\":\"\\\"usage\\\"\"}}]}\r\n\r\n"
                             "data:{\"choices\":[],\"usage\":{\"prompt_tokens\":90,\"completion_tokens\":20,"
                             "\"prompt_tokens_details\":{\"cached_tokens\":40},"
                             "\"completion_tokens_details\":{\"reasoning_tokens\":5}}}\n\ndata: [DONE]\n\n");
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 90);
    CHECK(found.count.tokens.cached == 40);
    CHECK(found.count.tokens.output == 20);
    CHECK(found.count.tokens.reasoning == 5);
}

TEST_CASE("chunks whose usage is null do not count") {
    const auto found =
        count(api::chat_completions, true, "data: {\"usage\":null}\n\ndata: {\"usage\":null}\n\ndata: [DONE]\n\n");
    CHECK(found.estimated);
    CHECK(found.count.tokens.input == 100);
    CHECK(found.count.tokens.output == 3);
}

TEST_CASE("responses count by their completed event, and so do incomplete ones") {
    for (const char* type : {"response.completed", "response.incomplete", "response.failed"}) {
        const auto found = count(api::responses, true,
                                 std::string("event: x\ndata: {\"type\":\"") + type +
                                     "\",\"response\":{\"usage\":{\"input_tokens\":7,\"output_tokens\":3,"
                                     "\"input_tokens_details\":{\"cached_tokens\":2},"
                                     "\"output_tokens_details\":{\"reasoning_tokens\":1}}}}\n\n");
        CHECK_FALSE(found.estimated);
        CHECK(found.count.tokens.input == 7);
        CHECK(found.count.tokens.cached == 2);
        CHECK(found.count.tokens.output == 3);
        CHECK(found.count.tokens.reasoning == 1);
    }
}

TEST_CASE("Anthropic's counts are cumulative, and its cached input is part of the whole") {
    const auto found =
        count(api::messages, true,
              "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":10,"
              "\"cache_read_input_tokens\":100,\"cache_creation_input_tokens\":30,\"output_tokens\":1}}}\n\n"
              "event: ping\ndata: {\"type\":\"ping\"}\n\n"
              "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":15}}\n\n"
              "event: message_delta\ndata: {\"type\":\"message_delta\",\"usage\":{\"output_tokens\":25}}\n\n");
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 140);
    CHECK(found.count.tokens.cached == 100);
    CHECK(found.count.cache_write == 30);
    CHECK(found.count.tokens.output == 25);
}

TEST_CASE("a stream that breaks is estimated, over what was said") {
    const auto found = count(
        api::messages, true,
        "data: {\"type\":\"message_start\",\"message\":{\"usage\":{\"input_tokens\":1000,\"output_tokens\":1}}}\n\n"
        "data: {\"type\":\"content_block_delta\"}\n\ndata: {\"type\":\"content_block_de",
        8'000); // a request that would be estimated at more than the provider said
    CHECK(found.estimated);
    CHECK(found.count.tokens.input == 1000);
    CHECK(found.count.tokens.output == 3);
}

TEST_CASE("Gemini's counts are cumulative, thoughts are output, and a stream without its last chunk is estimated") {
    const std::string first = "data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"a\"}]}}],"
                              "\"usageMetadata\":{\"promptTokenCount\":90,\"candidatesTokenCount\":1}}\r\n\r\n";
    const std::string last = "data: {\"candidates\":[{\"finishReason\":\"STOP\"}],\"usageMetadata\":{"
                             "\"promptTokenCount\":90,\"toolUsePromptTokenCount\":10,\"cachedContentTokenCount\":40,"
                             "\"candidatesTokenCount\":15,\"thoughtsTokenCount\":5}}\r\n\r\n";
    const auto found = count(api::generate_content, true, first + last);
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 100);
    CHECK(found.count.tokens.cached == 40);
    CHECK(found.count.tokens.output == 20);
    CHECK(found.count.tokens.reasoning == 5);
    const auto broken = count(api::generate_content, true, first + first + "data: {\"cand");
    CHECK(broken.estimated);
    CHECK(broken.count.tokens.input == 90);
    CHECK(broken.count.tokens.output == 3);
    const auto blocked = count(api::generate_content, true,
                               "data: {\"promptFeedback\":{},\"usageMetadata\":{\"promptTokenCount\":7}}\n\n");
    CHECK_FALSE(blocked.estimated);
    CHECK(blocked.count.tokens.input == 7);
    const auto list = "[" + first.substr(6) + "," + last.substr(6) + "]"; // without alt=sse
    CHECK(count(api::generate_content, false, list).count.tokens.output == 20);
    CHECK(count(api::count_gemini_tokens, false, "{\"totalTokens\":17}").count.tokens.input == 0);
}

TEST_CASE("an answer in one piece counts too") {
    const auto found = count(api::chat_completions, false,
                             "{\"choices\":[],\n\"usage\":{\"prompt_tokens\":4,\"completion_tokens\":2}}");
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 4);
    CHECK(found.count.tokens.output == 2);
    CHECK(count(api::chat_completions, false, "not json at all, 32 bytes long..").count.tokens.output == 8);
}

TEST_CASE("counting tokens costs none") {
    const auto found = count(api::count_tokens, false, "{\"input_tokens\": 17}");
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 0);
}

TEST_CASE("nonsense in a stream is skipped, and a line without an end does not grow for ever") {
    usage_watch watch(api::chat_completions, true);
    const std::string chunk(1U << 20U, 'x');
    watch.see("data: ");
    for (int i = 0; i < 6; ++i) {
        watch.see(chunk);
    }
    watch.see(
        "\ndata: {\"usage\":{\"prompt_tokens\":-5,\"completion_tokens\":\"7\"}}\n"
        "data: {\"usage\":[]}\ndata: {\"usage\"\ndata: {\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":8}}");
    const auto found = watch.finish(0);
    CHECK_FALSE(found.estimated);
    CHECK(found.count.tokens.input == 9);
    CHECK(found.count.tokens.output == 8);
}
