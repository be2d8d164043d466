#include "protocol/environment/line_splitter.hpp"

#include "tests/support/catch.hpp"

#include <string>
#include <vector>

using chalk::environment::line_splitter;

namespace {

struct collected {
    std::vector<std::string> lines;
    bool ok = true;
};

collected feed(line_splitter& splitter, std::initializer_list<std::string_view> chunks) {
    collected out;
    for (auto chunk : chunks) {
        out.ok = out.ok && splitter.feed(chunk, [&](std::string&& line) {
            out.lines.push_back(std::move(line));
            return true;
        });
    }
    return out;
}

} // namespace

TEST_CASE("lines come out whole however the stream is cut", "[environment]") {
    line_splitter splitter(100, line_splitter::overflow::refuse);
    auto got = feed(splitter, {"on", "e\ntwo\n\nth", "ree", "\nrest"});
    CHECK(got.ok);
    CHECK(got.lines == std::vector<std::string>{"one", "two", "", "three"});
    CHECK(splitter.take_rest() == "rest");
    CHECK(splitter.take_rest().empty());
}

TEST_CASE("a line of exactly the cap passes and one byte more is refused", "[environment]") {
    line_splitter splitter(4, line_splitter::overflow::refuse);
    CHECK(feed(splitter, {"1234\n"}).lines == std::vector<std::string>{"1234"});
    CHECK_FALSE(feed(splitter, {"12", "345"}).ok);
}

TEST_CASE("a cut line says how much is missing and leaves the next one alone", "[environment]") {
    line_splitter splitter(4, line_splitter::overflow::cut);
    auto got = feed(splitter, {"12345", "67\nab\n"});
    CHECK(got.ok);
    CHECK(got.lines == std::vector<std::string>{"1234 [3 bytes cut]", "ab"});
}

TEST_CASE("a reader that has enough stops the splitter in the middle of a chunk", "[environment]") {
    line_splitter splitter(10, line_splitter::overflow::cut);
    int seen = 0;
    CHECK_FALSE(splitter.feed("a\nb\nc\n", [&](std::string&&) { return ++seen < 2; }));
    CHECK(seen == 2);
}
