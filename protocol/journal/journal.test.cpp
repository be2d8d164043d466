#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cmath>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

void append(journal_file& file, std::vector<record> records) {
    auto done = file.append(records);
    REQUIRE(done);
}

std::string refusal(journal_file& file, std::vector<record> records) {
    auto done = file.append(records);
    REQUIRE_FALSE(done);
    CHECK(file.last_trouble() == trouble::contradiction);
    return done.error().message;
}

bool mentions(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

journal_file new_sweep(const std::filesystem::path& folder, std::uint64_t cells, std::uint64_t repeats) {
    auto file = journal_file::create(folder);
    REQUIRE(file);
    append(*file, {a_sweep(cells, repeats)});
    return std::move(*file);
}

run_row run_of(const journal_reader& reader, std::uint64_t run) {
    auto found = reader.run(run_number{run});
    REQUIRE(found);
    REQUIRE(*found);
    return std::move(**found);
}

} // namespace

TEST_CASE("a journal gives back what it was told") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 2, 3);
    auto start = a_start(4, 3);
    start.seed = 0x8000'0000'0000'0001U;
    start.reserved = {1000, 0.25};
    auto end = an_end(4, outcome::error(error_class::model, "the model said \"no\" \xc3\xa9"), std::nullopt);
    end.step_scores = {0.1, std::nullopt, 1.0 / 3};
    end.spent = {{10, 2, 5, 1}, 0.125};
    end.took = {milliseconds(1), milliseconds(2), milliseconds(3), std::nullopt, milliseconds(5), milliseconds(20)};
    end.transcript = "runs/run-4/attempt-1/transcript.json";
    append(file, {a_cell(1), start, end, sweep_ended{some_day + seconds(90), false, "enough"}});
    CHECK(file.written().batches == 2);
    CHECK(file.written().records == 5);

    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    const auto sweep = reader->sweep();
    REQUIRE(sweep);
    CHECK(sweep->opened.at == some_day);
    CHECK(sweep->opened.name == "a sweep");
    CHECK(sweep->opened.seed == 0xffff'ffff'ffff'fff0U);
    CHECK(sweep->opened.file_text == "name = \"a sweep\"\n");
    CHECK(sweep->opened.total_runs == 6);
    CHECK(sweep->chalk_version == CHALK_VERSION);
    CHECK(sweep->sessions == 1);
    REQUIRE(sweep->ended);
    CHECK_FALSE(sweep->ended->complete);
    CHECK(sweep->ended->message == "enough");

    std::vector<cell_described> cells;
    REQUIRE(reader->for_each_cell([&](const cell_described& c) {
        cells.push_back(c);
        return true;
    }));
    REQUIRE(cells.size() == 1);
    CHECK(cells[0].id == a_cell(1).id);
    CHECK(cells[0].values == a_cell(1).values);

    const auto run = run_of(*reader, 4);
    REQUIRE(run.counted() != nullptr);
    const auto& got = *run.counted();
    CHECK(got.started.id.str() == "run-4");
    CHECK(got.started.cell == cell_number{1});
    CHECK(got.started.repeat == 1);
    CHECK(got.started.seed == 0x8000'0000'0000'0001U);
    CHECK(got.started.reserved == charge{1000, 0.25});
    CHECK(got.started.at == start.at);
    CHECK(got.chalk_version == CHALK_VERSION);
    REQUIRE(got.ended);
    CHECK(got.ended->how == end.how);
    CHECK(got.ended->at == end.at);
    CHECK_FALSE(got.ended->score);
    CHECK(got.ended->step_scores == end.step_scores);
    CHECK(got.ended->spent.tokens.cached == 2);
    CHECK(got.ended->spent.usd == 0.125);
    CHECK(got.ended->charged == charge{15, 0.125});
    CHECK(got.ended->took == end.took);
    CHECK(got.ended->transcript == end.transcript);
}

TEST_CASE("a record that contradicts the journal is refused with its whole batch") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 4, 1);
    append(file, {a_start(0, 1)});
    const auto fine = a_start(3, 1);

    CHECK(mentions(refusal(file, {fine, a_start(0, 1, 2)}), "its last attempt is open"));
    CHECK(mentions(refusal(file, {fine, a_start(1, 1, 2)}), "not the next one"));
    CHECK(mentions(refusal(file, {fine, an_end(1, outcome::passed(), 1)}), "never started"));
    CHECK(mentions(refusal(file, {fine, spending_noted{run_number{2}, attempt_number{1}, {}}}), "never started"));
    CHECK(mentions(refusal(file, {fine, run_requeued{run_number{0}, some_day, ""}}), "is not closed"));
    CHECK(mentions(refusal(file, {fine, run_closed_without_attempt{run_number{0}, some_day, closing::stopped, "", {}}}),
                   "has an open attempt"));
    CHECK(mentions(refusal(file, {fine, an_end(0, outcome::passed(), std::nan(""))}), "no finite number"));
    refusal(file, {fine, a_sweep(4, 1)});

    append(file, {an_end(0, outcome::passed(), 1)});
    CHECK(mentions(refusal(file, {fine, an_end(0, outcome::passed(), 1)}), "run 0"));
    CHECK(mentions(refusal(file, {fine, a_start(0, 1, 2)}), "the run is closed"));
    CHECK(mentions(refusal(file, {fine, run_closed_without_attempt{run_number{0}, some_day, closing::stopped, "", {}}}),
                   "closed already"));

    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK_FALSE(*reader->run(run_number{3}));
    append(file, {fine}); // the journal goes on
}

TEST_CASE("a resume learns what is finished, what is not, and what was left open") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 6, 1);
    using enum verdict;
    append(file, {a_start(0, 1), an_end(0, outcome::passed(), 1)});
    append(file, {a_start(1, 1), an_end(1, outcome::error(error_class::model, "x"), {}, retried), a_start(1, 1, 2),
                  an_end(1, outcome::error(error_class::node_lost, "gone"), {}, lost, 2), a_start(1, 1, 3),
                  an_end(1, outcome::error(error_class::sandbox, "no room"), {}, lost, 3)});
    append(file, {a_start(2, 1), spending_noted{run_number{2}, attempt_number{1}, {{5, 0, 2, 0}, 0.5}}});
    append(file, {a_start(3, 1), an_end(3, outcome::error(error_class::timeout, "cut off"), {}, sealed)});
    append(file, {run_closed_without_attempt{run_number{4}, some_day, closing::first_pass, "run 0 passed", {}}});

    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    const auto finished = reader->finished_runs();
    REQUIRE(finished);
    CHECK(finished->size() == 3);
    CHECK(finished->contains(run_number{0}));
    CHECK_FALSE(finished->contains(run_number{1}));
    CHECK(finished->contains(run_number{3}));
    CHECK(finished->contains(run_number{4}));
    CHECK(run_of(*reader, 4).closed->why == closing::first_pass);
    CHECK(run_of(*reader, 3).closed->counted == attempt_number{1});

    const auto unfinished = reader->unfinished_runs();
    REQUIRE(unfinished);
    REQUIRE(unfinished->size() == 2);
    CHECK((*unfinished)[0].run == run_number{1});
    CHECK((*unfinished)[0].charged_attempts == 1);
    CHECK_FALSE((*unfinished)[0].requeued);
    CHECK((*unfinished)[0].node_losses == 1);
    CHECK((*unfinished)[0].shortages == 1);
    CHECK((*unfinished)[0].next_attempt == attempt_number{4});
    CHECK_FALSE((*unfinished)[0].open);
    CHECK((*unfinished)[1].run == run_number{2});
    CHECK((*unfinished)[1].open);

    const auto open = reader->open_attempts();
    REQUIRE(open);
    REQUIRE(open->size() == 1);
    CHECK((*open)[0].started.run == run_number{2});
    CHECK((*open)[0].noted.tokens.input == 5);

    append(file, {settle((*open)[0], some_day)});
    REQUIRE(reader->refresh());
    CHECK(reader->open_attempts()->empty());
    CHECK(reader->unfinished_runs()->at(1).next_attempt == attempt_number{2});
    CHECK(reader->unfinished_runs()->at(1).node_losses == 0); // chalk's own end is nobody's fault
    CHECK(reader->unfinished_runs()->at(1).shortages == 0);
}

TEST_CASE("an attempt that nobody settled is charged the larger of what it noted and what it reserved") {
    open_attempt left;
    left.started = a_start(0, 1);
    left.started.reserved = {1000, 0.1};
    left.noted = {{300, 0, 100, 0}, 0.5};
    const auto ended = settle(left, some_day);
    CHECK(ended.charged == charge{1000, 0.5});
    CHECK(ended.spent.tokens.input == 300);
    CHECK(ended.means == verdict::lost);
    left.started.reserved = {};
    CHECK(settle(left, some_day).charged == charge{400, 0.5});
}

TEST_CASE("what an attempt has spent only rises, also after its end") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 1, 1);
    const auto note = [](std::uint64_t input, std::optional<double> usd) {
        return spending_noted{run_number{0}, attempt_number{1}, {{input, 0, 0, 0}, usd}};
    };
    append(file, {a_start(0, 1), note(100, 0.5), note(50, 0.25)});
    auto end = an_end(0, outcome::passed(), 1);
    end.spent = {{80, 0, 0, 0}, 0.25};
    append(file, {end});
    const auto spent = [&] {
        auto reader = journal_reader::open(out.path());
        REQUIRE(reader);
        const auto run = run_of(*reader, 0);
        const auto& ended = *run.counted()->ended;
        CHECK(ended.charged == *reader->charged());
        return std::make_tuple(ended.spent.tokens.input, ended.spent.usd, *ended.charged);
    };
    CHECK(spent() == std::make_tuple(100U, 0.5, charge{100, 0.5}));
    append(file, {note(120, 0.75)});
    CHECK(spent() == std::make_tuple(120U, 0.75, charge{120, 0.75}));
    append(file, {note(130, std::nullopt)}); // a model without a price: the total is not known any more
    CHECK(spent() == std::make_tuple(130U, std::optional<double>(), charge{130, 0.75}));
}

TEST_CASE("a requeued run starts afresh and keeps its first outcome as history") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 2, 1);
    using enum verdict;
    append(file, {a_start(0, 1), an_end(0, outcome::error(error_class::model, "x"), {}, retried), a_start(0, 1, 2),
                  an_end(0, outcome::failed(), 0, counts, 2)});
    append(file, {run_closed_without_attempt{run_number{1}, some_day, closing::cancelled, "", {}}});
    append(file, {run_requeued{run_number{0}, some_day, "ctl"}, run_requeued{run_number{1}, some_day, "ctl"}});
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK(reader->finished_runs()->size() == 0);
    CHECK(run_of(*reader, 0).counted() == nullptr);
    const auto unfinished = reader->unfinished_runs();
    REQUIRE(unfinished);
    REQUIRE(unfinished->size() == 2);
    CHECK((*unfinished)[0].charged_attempts == 0);
    CHECK((*unfinished)[0].requeued);
    CHECK((*unfinished)[1].requeued);
    CHECK((*unfinished)[0].next_attempt == attempt_number{3});
    CHECK((*unfinished)[1].next_attempt == attempt_number{1});

    append(file, {a_start(0, 1, 3), an_end(0, outcome::passed(), 1, counts, 3)});
    REQUIRE(reader->refresh());
    const auto run = run_of(*reader, 0);
    REQUIRE(run.attempts.size() == 3);
    CHECK(run.counted()->started.attempt == attempt_number{3});
    CHECK(run.attempts[1].ended->how == outcome::failed());
    CHECK_FALSE(run.attempts[1].counts);
}

TEST_CASE("a run closed after a retry can let that attempt's outcome stand") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 1, 1);
    append(file, {a_start(0, 1), an_end(0, outcome::error(error_class::model, "x"), {}, verdict::retried)});
    CHECK(mentions(refusal(file, {run_closed_without_attempt{run_number{0}, some_day, closing::breaker, "too many",
                                                             attempt_number{2}}}),
                   "does not"));
    append(file,
           {run_closed_without_attempt{run_number{0}, some_day, closing::breaker, "too many", attempt_number{1}}});
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    const auto run = run_of(*reader, 0);
    CHECK(run.closed->why == closing::breaker);
    CHECK(run.closed->message == "too many");
    REQUIRE(run.counted() != nullptr);
    CHECK(run.counted()->ended->how.kind == error_class::model);
}

TEST_CASE("a reader beside the writer sees one moment until it asks for the next") {
    const temporary_folder out;
    auto file = new_sweep(out.path(), 3, 1);
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    append(file, {a_start(0, 1), an_end(0, outcome::passed(), 1)});
    CHECK(reader->finished_runs()->size() == 0);
    REQUIRE(reader->refresh());
    CHECK(reader->finished_runs()->size() == 1);
}
