#include "cli/progress/event_text.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

TEST_CASE("a line of a run that goes by cannot steer the terminal") {
    CHECK(printable("a\x1b[2Jb\r\x07\x7f") == "a\xEF\xBF\xBD[2Jb\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
    CHECK(printable("\xC2\x9B"
                    "2J") == "\xEF\xBF\xBD"
                             "2J");
    CHECK(printable("tab\tand caf\xC3\xA9 stay") == "tab\tand caf\xC3\xA9 stay");
}

TEST_CASE("a long tool result is cut, and the cut is said") {
    std::string text;
    for (int i = 0; i < 1000; ++i) {
        text += "line\n";
    }
    const auto lines = event_text({1, {}, tool_result{"1", "bash", text, false, false, milliseconds{1}}});
    CHECK(lines.size() == 41);
    CHECK(lines.front() == "bash answered: line");
    CHECK(lines.back() == "    [960 more lines]");
    const auto wide = event_text({1, {}, log_line{log_level::info, "chalk", std::string(5000, 'x')}});
    REQUIRE(wide.size() == 1);
    CHECK(wide.front().ends_with("[3000 more bytes]"));
}

TEST_CASE("a log line below the least level is left out, and nothing else is") {
    const event line{1, {}, log_line{log_level::info, "chalk", "said"}};
    CHECK(event_text(line) == std::vector<std::string>{"chalk: said"});
    CHECK(event_text(line, log_level::info).size() == 1);
    CHECK(event_text(line, log_level::warning).empty());
    CHECK(event_text({1, {}, log_line{log_level::error, "chalk", "said"}}, log_level::error).size() == 1);
    CHECK(event_text({1, {}, step_started{0, "s", "i"}}, log_level::error).size() == 1);
}

TEST_CASE("a message shows its text and each tool call") {
    message_added m;
    m.role = message_role::assistant;
    m.text = "I look.";
    m.tool_calls = {{"1", "bash", {{"command", "ls"}}}};
    const auto lines = event_text({1, {}, m});
    REQUIRE(lines.size() == 2);
    CHECK(lines[0] == "assistant: I look.");
    CHECK(lines[1] == R"(calls bash {"command":"ls"})");
}
