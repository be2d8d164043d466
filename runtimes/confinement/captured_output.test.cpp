#include "runtimes/confinement/captured_output.hpp"

#include "tests/support/catch.hpp"

using chalk::bytes;
using chalk::confinement::captured_output;

TEST_CASE("output within the cap is kept as it came") {
    captured_output out(bytes{10});
    out.append("abc");
    out.append("defg");
    out.append("hij");
    CHECK(out.text() == "abcdefghij");
    CHECK(out.omitted() == 0);
}

TEST_CASE("output beyond the cap keeps its head and its tail, whatever the size of the parts") {
    std::string printed;
    for (int i = 0; i < 100; ++i) {
        printed += static_cast<char>('a' + i % 26);
    }
    for (const std::size_t step : {std::size_t{1}, std::size_t{3}, std::size_t{7}, std::size_t{64}, std::size_t{100}}) {
        captured_output out(bytes{11});
        for (std::size_t at = 0; at < printed.size(); at += step) {
            out.append(std::string_view(printed).substr(at, step));
        }
        INFO("parts of " << step);
        CHECK(out.text() == "abcde\n[... 89 bytes left out ...]\n" + printed.substr(94));
        CHECK(out.omitted() == 89);
    }
}

TEST_CASE("a cut splits no character, and invalid UTF-8 is replaced") {
    captured_output out(bytes{8});
    out.append(
        "abc\u00e9xxxxxxxx\u20acyz"); // the head ends in the middle of e-acute, the tail starts inside the euro sign
    CHECK(out.text() == "abc\n[... 13 bytes left out ...]\nyz");

    captured_output raw(bytes{8});
    raw.append("a\xffz");
    CHECK(raw.text() == "a\xef\xbf\xbdz");
}

TEST_CASE("a cap of nothing counts everything") {
    captured_output out(bytes{0});
    out.append("abc");
    CHECK(out.omitted() == 3);
    CHECK(out.text() == "\n[... 3 bytes left out ...]\n");
}
