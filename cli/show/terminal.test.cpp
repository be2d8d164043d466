#include "cli/show/terminal.hpp"

#include "tests/support/catch.hpp"

using namespace chalk::cli;
using lines = std::vector<std::string>;

TEST_CASE("text is broken between words, and keeps its own line breaks") {
    CHECK(wrap("one two three", 8) == lines{"one two", "three"});
    CHECK(wrap("one\n\ntwo\r\n", 8) == lines{"one", "", "two"});
    CHECK(wrap("", 8).empty());
    CHECK(wrap("exactly8", 8) == lines{"exactly8"});
    CHECK(wrap("    indented code", 12) == lines{"    indented", "code"});
}

TEST_CASE("a word that fits no line is cut, without loss") {
    CHECK(wrap("abcdefghij", 4) == lines{"abcd", "efgh", "ij"});
    CHECK(wrap("      abcdefghij", 8) == lines{"      ab", "cdefghij"});
}

TEST_CASE("width is counted in columns, not in bytes") {
    CHECK(columns("caf\xc3\xa9") == 4);
    CHECK(columns("\xe6\xbc\xa2\xe5\xad\x97") == 4); // two characters of two columns each
    CHECK(wrap("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 3) == lines{"\xc3\xa9\xc3\xa9\xc3\xa9", "\xc3\xa9"});
}

TEST_CASE("what a student prints cannot steer the terminal") {
    for (const auto& line : wrap("a\x1b[2Jb\x07\x7f"
                                 "c\xc2\x9b"
                                 "d\tend\xff",
                                 80)) {
        for (const char c : line) {
            CHECK((static_cast<unsigned char>(c) >= 0x20 && c != 0x7f));
        }
        CHECK(line.find("\xc2\x9b") == std::string::npos); // the 8-bit form of ESC [
    }
}

TEST_CASE("colours are there only when they were asked for") {
    page_style style;
    CHECK(paint(style, ink::red, "x") == "x");
    style.colour = true;
    CHECK(paint(style, ink::red, "x") == "\033[31mx\033[0m");
    CHECK(paint(style, ink::plain, "x") == "x");
}
