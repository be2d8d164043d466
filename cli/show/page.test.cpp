#include "cli/show/page.hpp"

#include "protocol/transcript/transcript.hpp"
#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;
using namespace std::chrono_literals;

namespace {

json document_of(const std::vector<event_body>& bodies) {
    transcript_header header;
    header.run_id = "try-1";
    header.environment = "/environments/hello";
    header.agent = "builtin";
    header.model = "some-model";
    header.runtime = "namespaces";
    header.chalk_version = "0.1.0";
    transcript_builder builder(header);
    std::uint64_t seq = 0;
    for (const auto& body : bodies) {
        ++seq;
        builder.add(std::make_shared<const event>(event{seq, wall_time(seconds(seq)), body}));
    }
    auto document = builder.document();
    CHECK(check_transcript(document));
    return document;
}

json whole_run(const std::string& output) {
    message_added spoken;
    spoken.role = message_role::assistant;
    spoken.text = "I will look.";
    spoken.reasoning = "Where am I?";
    spoken.tool_calls = {{"c1", "bash", json{{"command", "ls\npwd"}}}};
    spoken.usage = token_usage{10, 0, 3, 0};
    return document_of({task_started{"hello", "builtin", "some-model", {"bash"}, 1},
                        step_started{0, "greet", "Say hello."},
                        message_added{.role = message_role::user,
                                      .text = "Say hello.",
                                      .reasoning = {},
                                      .tool_calls = {},
                                      .stop_reason = {},
                                      .usage = {}},
                        spoken, tool_result{"c1", "bash", output, false, false, 1500ms},
                        artifact_saved{0, "hello.txt", 2048}, step_scored{0, 0.5, true, "half of it", json(), false},
                        step_completed{0, 90s}, task_completed{outcome_status::passed}});
}

void check_in_order(const std::string& page, const std::vector<std::string>& parts) {
    std::size_t from = 0;
    for (const auto& part : parts) {
        INFO(page);
        INFO(part);
        const auto at = page.find(part, from);
        REQUIRE(at != std::string::npos);
        from = at + part.size();
    }
}

} // namespace

TEST_CASE("a page tells the run's story in order") {
    check_in_order(transcript_page(whole_run("file.txt"), {}), {"try-1  passed  score 0.5\n",
                                                                "/environments/hello",
                                                                "some-model",
                                                                "took 8.0 s",
                                                                "10 in",
                                                                "bash\n",
                                                                "--- step 1 of 1: greet ---",
                                                                "user\n  Say hello.\n",
                                                                "assistant",
                                                                "10 tokens in, 3 out",
                                                                "    Where am I?\n",
                                                                "  I will look.\n",
                                                                "  > bash\n",
                                                                "      command:\n        ls\n        pwd\n",
                                                                "  < bash  ok  1.5 s\n",
                                                                "      file.txt\n",
                                                                "saved hello.txt (2.0 KiB)",
                                                                "score 0.5\n  half of it\n",
                                                                "step took 1 min 30 s",
                                                                "--- outcome ---",
                                                                "passed  score 0.5\n"});
}

TEST_CASE("a long result is cut and says so, unless all of it is wanted") {
    std::string output;
    for (int i = 0; i < 40; ++i) {
        output += "row " + std::to_string(i) + "\n";
    }
    const auto document = whole_run(output);
    const auto cut = transcript_page(document, {});
    CHECK(cut.find("row 39") == std::string::npos);
    CHECK(cut.find("... 28 more lines (--full)") != std::string::npos);
    page_style full;
    full.full = true;
    CHECK(transcript_page(document, full).find("row 39") != std::string::npos);
    CHECK(transcript_page(document, full).find("more lines") == std::string::npos);
}

TEST_CASE("no line of a page is wider than the terminal") {
    page_style narrow;
    narrow.width = 40;
    const auto page =
        transcript_page(whole_run(std::string(500, 'x') + " \xe6\xbc\xa2" + std::string(90, 'y')), narrow);
    std::size_t from = 0;
    for (auto end = page.find('\n'); end != std::string::npos; from = end + 1, end = page.find('\n', from)) {
        const auto line = page.substr(from, end - from);
        INFO(line);
        CHECK(columns(line) <= narrow.width);
    }
}

TEST_CASE("an error is told with its class, message and details") {
    const auto document =
        document_of({task_started{"hello", "builtin", "m", {}, 1},
                     run_failed{error_class::task, "pre_hook raised", "Traceback:\n  line \x1b[31m 7"}});
    const auto page = transcript_page(document, {});
    check_in_order(page,
                   {"error (task)", "--- outcome", "error (task)  score -", "  pre_hook raised\n", "  Traceback:\n"});
    CHECK(page.find('\x1b') == std::string::npos);
}

TEST_CASE("a run that has not ended, or whose owner stopped it, says so") {
    CHECK(transcript_page(document_of({}), {}).find("try-1  not finished  score -") == 0);
    check_in_order(transcript_page(document_of({run_cancelled{"Ctrl-C"}}), {}), {"cancelled", "Ctrl-C"});
}

TEST_CASE("several transcripts make a table with totals") {
    const auto table = transcript_table({{"out/a.json", whole_run("x")}, {"out/b.json", document_of({})}}, {});
    check_in_order(table, {"run ", "outcome", "file\n", "try-1", "passed", "0.5", "8.0 s", "out/a.json\n", "try-1",
                           "not finished", "-", "out/b.json\n", "2 runs, 1 passed, mean score 0.5\n"});
}

TEST_CASE("figures are given in units that a person reads") {
    CHECK(duration_text(0) == "0 ms");
    CHECK(duration_text(999) == "999 ms");
    CHECK(duration_text(1'000) == "1.0 s");
    CHECK(duration_text(59'999) == "59.9 s");
    CHECK(duration_text(61'500) == "1 min 01 s");
    CHECK(duration_text(7'380'000) == "2 h 03 min");
    CHECK(size_text(1023) == "1023 B");
    CHECK(size_text(1536) == "1.5 KiB");
    CHECK(score_text(json(1.0)) == "1");
    CHECK(score_text(json(0)) == "0");
    CHECK(score_text(json(0.33333333)) == "0.3333");
    CHECK(score_text(json(-0.5)) == "-0.5");
    CHECK(score_text(json()) == "-");
}
