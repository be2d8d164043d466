#include "cli/progress/console.hpp"

#include "tests/support/catch.hpp"

using namespace chalk;
using namespace chalk::cli;

namespace {

actors::order_ptr order(const std::string& id) {
    auto o = std::make_shared<actors::run_order>();
    o->config.id = run_id::parse(id).value();
    o->config.transcript_file = "out/" + id + ".json";
    o->artifacts_folder = "out/" + id + "_artifacts";
    return o;
}

} // namespace

TEST_CASE("a JSON line names the run, its attempt and the event") {
    const auto line = json::parse(json_event_line(*order("a-1"), {3, {}, step_completed{0, milliseconds{5}}}));
    CHECK(line["run_id"] == "a-1");
    CHECK(line["attempt"] == 1);
    CHECK(line["event"]["seq"] == 3);
    CHECK(line["event"]["type"] == "StepCompletedEvent");
}

TEST_CASE("the last JSON line of a run says how it ended and where its files are") {
    actors::run_result what;
    what.order = order("a");
    what.how = outcome::error(error_class::task, "the judge raised");
    what.has_transcript = true;
    auto line = json::parse(json_finished_line(what));
    CHECK(line["type"] == "RunFinished");
    CHECK(line["status"] == "error");
    CHECK(line["error"]["class"] == "task");
    CHECK(line["score"].is_null());
    CHECK(line["transcript"] == "out/a.json");
    what.how = outcome::cancelled("Ctrl-C");
    what.has_transcript = false;
    line = json::parse(json_finished_line(what));
    CHECK(line["reason"] == "Ctrl-C");
    CHECK(line["transcript"].is_null());
}

TEST_CASE("a run's end in words has its status, score, file and cause") {
    actors::run_result what;
    what.order = order("a");
    what.how = outcome::passed();
    what.score = 0.5;
    what.has_transcript = true;
    CHECK(result_text(what) == "a  passed  score 0.5  out/a.json");
    what.how = outcome::error(error_class::sandbox, "no\x1b memory");
    what.score.reset();
    CHECK(result_text(what) == "a  error (sandbox)  out/a.json\n    no\xEF\xBF\xBD memory");
}
