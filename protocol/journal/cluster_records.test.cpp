// What a cluster's coordinator writes to the journal and asks of it: leases, assignments, late results.
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"
#include "tests/support/temporary_folder.hpp"

#include <limits>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

/// A sweep's journal, and its newest moment.
struct cluster_journal {
    cluster_journal() {
        auto made = journal_file::create(out.path());
        REQUIRE(made);
        file.emplace(std::move(*made));
        append({a_sweep(8, 1)});
    }

    void append(const std::vector<record>& records) {
        const auto done = file->append(records);
        INFO((done ? std::string() : done.error().message));
        REQUIRE(done);
    }
    /// With its whole batch, of which `fine` is the first record.
    std::string refusal(const record& wrong) {
        const auto done = file->append(std::vector<record>{fine, wrong});
        REQUIRE_FALSE(done);
        CHECK(file->last_trouble() == trouble::contradiction);
        CHECK_FALSE(*now().run(run_number{7}));
        return done.error().message;
    }
    journal_reader& now() {
        if (!reader) {
            auto opened = journal_reader::open(out.path());
            REQUIRE(opened);
            reader.emplace(std::move(*opened));
        }
        REQUIRE(reader->refresh());
        return *reader;
    }
    assignment_standing standing(std::uint64_t run, std::uint32_t attempt, assignment_token token) {
        const auto found = now().assignment(run_number{run}, attempt_number{attempt}, token);
        REQUIRE(found);
        return *found;
    }

    const temporary_folder out;
    record fine = a_start(7, 1);
    std::optional<journal_file> file;
    std::optional<journal_reader> reader;
};

bool says(const std::string& text, std::string_view part) {
    INFO(text);
    return text.find(part) != std::string::npos;
}

lease_granted a_lease(const std::string& node, std::uint64_t count) {
    return {node, {1, count}, milliseconds(60'000), some_day};
}

attempt_started an_assignment(std::uint64_t run, std::uint64_t count, std::uint32_t attempt = 1) {
    auto start = a_start(run, 1, attempt);
    start.token = {1, count};
    return start;
}

evidence_kept late(std::uint64_t run, std::uint64_t count, std::uint32_t attempt = 1) {
    evidence_kept kept;
    kept.run = run_number{run};
    kept.attempt = attempt_number{attempt};
    kept.token = {1, count};
    kept.node = "box";
    kept.at = some_day + seconds(500);
    kept.how = outcome::error(error_class::model, "no answer");
    kept.score = 0.5;
    kept.spent = {{40, 3, 20, 1}, std::nullopt};
    kept.transcript = "late/run/transcript.json";
    return kept;
}

using enum verdict;
using enum assignment_standing;

} // namespace

TEST_CASE("a lease is open from its grant to its end, and a node holds one at a time") {
    cluster_journal j;
    CHECK(j.now().open_leases()->empty());
    j.append({a_lease("b", 2), a_lease("a", 1)});
    const auto open = j.now().open_leases();
    REQUIRE(open);
    REQUIRE(open->size() == 2);
    CHECK((*open)[0].node == "a");
    CHECK((*open)[0].number == assignment_token{1, 1});
    CHECK((*open)[0].length == milliseconds(60'000));
    CHECK((*open)[0].at == some_day);
    CHECK((*open)[1].node == "b");

    CHECK(says(j.refusal(a_lease("a", 3)), "it holds one"));
    CHECK(says(j.refusal(a_lease("c", 2)), "that number was given before"));
    CHECK(says(j.refusal(lease_ended{"a", {1, 2}, some_day}), "never granted")); // b's
    CHECK(says(j.refusal(lease_ended{"a", {1, 9}, some_day}), "never granted"));
    CHECK(says(j.refusal(lease_ended{"c", {1, 1}, some_day}), "never granted"));

    j.append({lease_ended{"a", {1, 1}, some_day}});
    CHECK(j.now().open_leases()->size() == 1);
    CHECK(says(j.refusal(lease_ended{"a", {1, 1}, some_day}), "has ended"));
    CHECK(says(j.refusal(a_lease("a", 1)), "given before"));
    j.append({a_lease("a", 3)});
    // In one batch too: the end makes room for the next.
    j.append({lease_ended{"b", {1, 2}, some_day}, a_lease("b", 4)});
    CHECK(j.now().open_leases()->size() == 2);
}

TEST_CASE("a lease without a node, a number or a length is refused") {
    cluster_journal j;
    auto unnumbered = a_lease("a", 1);
    unnumbered.number = {};
    auto empty = a_lease("a", 1);
    empty.length = milliseconds(0);
    auto backward = a_lease("a", 1);
    backward.length = milliseconds(-1);
    for (const auto& wrong : {a_lease("", 1), unnumbered, empty, backward}) {
        CHECK(says(j.refusal(wrong), "a lease without"));
    }
    CHECK(j.now().open_leases()->empty());
}

TEST_CASE("an open attempt is given back with its node and its token") {
    cluster_journal j;
    auto start = an_assignment(0, 1);
    start.node = "n1";
    start.token = {std::numeric_limits<std::uint64_t>::max(),
                   0x8000'0000'0000'0001U}; // above what SQLite calls an integer
    j.append({start, a_start(1, 1)});
    const auto open = j.now().open_attempts();
    REQUIRE(open);
    REQUIRE(open->size() == 2);
    CHECK((*open)[0].started.node == "n1");
    CHECK((*open)[0].started.token == start.token);
    CHECK((*open)[1].started.token.is_none());
    CHECK(j.standing(0, 1, start.token) == assigned);
    j.append({an_end(0, outcome::passed(), 1)});
    CHECK((*j.now().run(run_number{0}))->counted()->started.token == start.token);
}

TEST_CASE("an assignment is known by its run, attempt and token, and is taken when its own result has ended it") {
    cluster_journal j;
    CHECK(j.standing(0, 1, {1, 1}) == absent);
    j.append({an_assignment(0, 1), a_start(1, 1), an_assignment(2, 2)});
    CHECK(j.standing(0, 1, {1, 1}) == assigned);
    CHECK(j.standing(0, 1, {1, 2}) == absent);
    CHECK(j.standing(0, 1, {2, 1}) == absent);
    CHECK(j.standing(0, 2, {1, 1}) == absent);
    CHECK(j.standing(2, 1, {1, 1}) == absent);
    CHECK(j.standing(1, 1, {}) == absent); // a run of this machine is nobody's to report
    CHECK(j.standing(0, 1, {}) == absent);

    // A lost attempt was given up, whoever got its run afterwards.
    j.append({an_end(0, outcome::error(error_class::node_lost, "gone"), {}, lost), an_assignment(0, 3, 2)});
    CHECK(j.standing(0, 1, {1, 1}) == assigned);
    CHECK(j.standing(0, 2, {1, 3}) == assigned);
    j.append({an_end(0, outcome::passed(), 1, counts, 2)});
    CHECK(j.standing(0, 1, {1, 1}) == assigned);
    CHECK(j.standing(0, 2, {1, 3}) == taken);

    // So is the last one of a run whose node was lost too often, though it is the run's outcome.
    j.append({an_end(2, outcome::error(error_class::node_lost, "three times"), {}, counts)});
    CHECK(j.standing(2, 1, {1, 2}) == assigned);

    j.append({an_assignment(3, 4), an_end(3, outcome::error(error_class::model, "x"), {}, retried), an_assignment(4, 5),
              an_end(4, outcome::error(error_class::timeout, "cut off"), {}, sealed), an_assignment(5, 6),
              an_end(5, outcome::cancelled("chalk ended"), {}, lost)});
    CHECK(j.standing(3, 1, {1, 4}) == taken);
    CHECK(j.standing(4, 1, {1, 5}) == taken);
    CHECK(j.standing(5, 1, {1, 6}) == assigned);
}

TEST_CASE("a late result is kept once and counts for nothing") {
    cluster_journal j;
    j.append({an_assignment(0, 1), an_end(0, outcome::error(error_class::node_lost, "gone"), {}, lost),
              an_assignment(0, 2, 2)});
    CHECK(j.now().evidence(run_number{0})->empty());
    const auto charged = *j.now().charged();
    j.append({late(0, 1)});
    auto second = late(0, 1);
    second.how = outcome::passed();
    second.node = "another";
    j.append({second});
    j.append({an_end(0, outcome::failed(), 0, counts, 2), late(0, 2, 2)});

    const auto kept = j.now().evidence(run_number{0});
    REQUIRE(kept);
    REQUIRE(kept->size() == 2);
    const auto& first = kept->front();
    CHECK(first.run == run_number{0});
    CHECK(first.attempt == attempt_number{1});
    CHECK(first.token == assignment_token{1, 1});
    CHECK(first.node == "box");
    CHECK(first.at == some_day + seconds(500));
    CHECK(first.how == late(0, 1).how);
    CHECK(first.score == 0.5);
    CHECK(first.spent.tokens.input == 40);
    CHECK(first.spent.tokens.reasoning == 1);
    CHECK_FALSE(first.spent.usd);
    CHECK(first.transcript == "late/run/transcript.json");
    CHECK(kept->back().attempt == attempt_number{2});

    CHECK(j.now().sweep()->late_results == 2);
    CHECK(*j.now().charged() == charged);
    const auto run = *j.now().run(run_number{0});
    CHECK(run->attempts.size() == 2);
    CHECK(run->counted()->ended->how == outcome::failed());
    CHECK(j.standing(0, 1, {1, 1}) == assigned);
    CHECK(j.now().evidence(run_number{1})->empty());
}

TEST_CASE("evidence for what was never assigned is refused") {
    cluster_journal j;
    j.append({an_assignment(0, 1), a_start(1, 1)});
    for (const auto& wrong : {late(0, 2), late(0, 1, 2), late(2, 1), late(1, 1)}) {
        CHECK(says(j.refusal(wrong), "never assigned"));
    }
    auto of_this_machine = late(1, 1);
    of_this_machine.token = {};
    CHECK(says(j.refusal(of_this_machine), "never assigned"));
    auto endless = late(0, 1);
    endless.score = std::numeric_limits<double>::infinity();
    CHECK(says(j.refusal(endless), "no finite number"));
    CHECK(j.now().sweep()->late_results == 0);
}
