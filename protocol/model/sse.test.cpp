#include "protocol/model/sse.hpp"

#include "tests/support/catch.hpp"

#include <vector>

using chalk::model::sse_event;
using chalk::model::sse_parser;

namespace {

using said = std::vector<std::pair<std::string, std::string>>;

/// Fed in pieces of `piece` bytes.
said parse(std::string_view stream, std::size_t piece, bool finish = false) {
    sse_parser parser(1000);
    said all;
    const auto keep = [&](sse_event&& e) {
        all.emplace_back(std::move(e.name), std::move(e.data));
        return true;
    };
    for (std::size_t at = 0; at < stream.size(); at += piece) {
        REQUIRE(parser.feed(stream.substr(at, piece), keep));
    }
    if (finish) {
        REQUIRE(parser.finish(keep));
    }
    return all;
}

} // namespace

TEST_CASE("events come out whole with each kind of line break, however the stream is cut", "[sse]") {
    const std::string_view breaks = GENERATE("\n", "\r\n", "\r");
    std::string stream;
    for (const auto* line : {": hello", "event: a", "data: one", "data:two", "id: 7", "", "data", "", "event: empty",
                             "", "retry: 10", "data:  spaced", ""}) {
        stream += line;
        stream += breaks;
    }
    const said expected = {{"a", "one\ntwo"}, {"", ""}, {"", " spaced"}};
    for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
        INFO(piece);
        CHECK(parse(stream, piece) == expected);
    }
}

TEST_CASE("a byte order mark before the first line is no part of it", "[sse]") {
    CHECK(parse("\xef\xbb\xbf"
                "data: x\n\n",
                1) == said{{"", "x"}});
}

TEST_CASE("an event that no blank line closed is given at the end alone", "[sse]") {
    const std::string_view stream = GENERATE("data: [DONE]", "data: [DONE]\n", "data: [DONE]\r");
    CHECK(parse(stream, 1).empty());
    CHECK(parse(stream, 1, true) == said{{"", "[DONE]"}});
    CHECK(parse("data: x\n\n", 1, true) == said{{"", "x"}});
    CHECK(parse("", 1, true).empty());
}

TEST_CASE("an event may have as many bytes as its bound and not one more, however many lines it has", "[sse]") {
    const auto fits = [](std::string_view stream) {
        sse_parser parser(12);
        const bool all = parser.feed(stream, [](sse_event&&) { return true; });
        CHECK(all != parser.too_long());
        return all;
    };
    CHECK(fits("data: 123456\n\ndata: 123456\n\n"));
    CHECK_FALSE(fits("data: 1234567"));
    CHECK(fits("data:1\ndata:2\n\n"));
    CHECK_FALSE(fits("data:1\ndata:2\nd"));
}

TEST_CASE("comments do not fill an event's bound", "[sse]") {
    std::string stream;
    for (int i = 0; i < 1000; ++i) {
        stream += ": still working\n";
    }
    CHECK(parse(stream + "data: x\n\n", 7) == said{{"", "x"}});
}

TEST_CASE("who has enough stops the parser in the middle of a piece", "[sse]") {
    sse_parser parser(100);
    int seen = 0;
    CHECK_FALSE(parser.feed("data:1\n\ndata:2\n\ndata:3\n\n", [&](sse_event&&) { return ++seen < 2; }));
    CHECK(seen == 2);
    CHECK_FALSE(parser.too_long());
}
