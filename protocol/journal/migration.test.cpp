// Journals of older schemas, as their own chalk left them, become ones of this chalk's and lose nothing.
#include "protocol/journal/database.hpp"
#include "protocol/journal/folder_lock.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "protocol/journal/schema.hpp"
#include "protocol/journal/schema_1.test.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"
#include "tests/support/temporary_folder.hpp"

#include <string>
#include <vector>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

void make_schema_1(const std::filesystem::path& folder) {
    auto old = database::open(folder / journal_name, database::access::create);
    REQUIRE(old);
    REQUIRE((*old)->execute("PRAGMA journal_mode = WAL"));
    REQUIRE((*old)->execute(schema_1_tables));
    REQUIRE((*old)->execute(schema_1_rows));
    REQUIRE((*old)->execute(schema_1_marks));
}

/// Every column of every table, and the indices, as SQLite sees them.
std::vector<std::string> layout(database& journal) {
    std::vector<std::string> lines;
    for (const auto* sql :
         {"SELECT m.name || '.' || c.name || ' ' || c.type || ' ' || c.\"notnull\" || ' ' || c.pk || ' ' "
          "|| coalesce(c.dflt_value, '') FROM sqlite_schema AS m JOIN pragma_table_info(m.name) AS c "
          "WHERE m.type = 'table' ORDER BY m.name, c.cid",
          "SELECT name || ' ' || coalesce(sql, '') FROM sqlite_schema WHERE type = 'index' ORDER BY 1"}) {
        auto query = journal.prepare(sql);
        REQUIRE(query);
        for (auto row = query->step(); row && *row; row = query->step()) {
            lines.push_back(query->text(0));
        }
    }
    return lines;
}

std::int64_t version_in(const std::filesystem::path& folder) {
    auto journal = database::open(folder / journal_name, database::access::read);
    REQUIRE(journal);
    return *(*journal)->query_integer("PRAGMA user_version");
}

} // namespace

TEST_CASE("the first migration makes the tables of schema 1 to this day") {
    const temporary_folder out;
    make_schema_1(out.path());
    auto old = database::open(out.path() / journal_name, database::access::read);
    auto fresh = database::open(out.path() / "fresh.sqlite", database::access::create);
    REQUIRE(old);
    REQUIRE(fresh);
    REQUIRE(migrate(**fresh, migrations().first(1)));
    CHECK(layout(**fresh) == layout(**old));
    CHECK(layout(**old).size() > 60);
}

TEST_CASE("a resume brings a journal of schema 1 up to date, and every row of it is there") {
    const temporary_folder out;
    make_schema_1(out.path());
    const auto refused = journal_reader::open(out.path());
    REQUIRE_FALSE(refused);
    CHECK(refused.error().message.find("chalk sweep resume") != std::string::npos);

    auto file = journal_file::resume(out.path());
    REQUIRE(file);
    CHECK(file->session() == 3);
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    const auto sweep = reader->sweep();
    REQUIRE(sweep);
    CHECK(sweep->opened.name == "an old sweep");
    CHECK(sweep->opened.seed == 0xffff'ffff'ffff'fff0U);
    CHECK(sweep->opened.total_runs == 4);
    CHECK(sweep->chalk_version == "0.1.0");
    CHECK(sweep->sessions == 3);
    CHECK(sweep->late_results == 0);
    CHECK((*reader->cell(cell_number{1}))->label == "task=1");

    const auto first = *reader->run(run_number{0});
    REQUIRE(first);
    REQUIRE(first->attempts.size() == 2);
    CHECK(first->attempts[0].ended->how == outcome::error(error_class::node_lost, "gone"));
    CHECK(first->attempts[0].ended->means == verdict::lost);
    CHECK(first->attempts[0].started.token.is_none());
    REQUIRE(first->counted() != nullptr);
    const auto& counted = *first->counted();
    CHECK(counted.started.node == "local");
    CHECK(counted.ended->how == outcome::passed());
    CHECK(counted.ended->score == 0.75);
    CHECK(counted.ended->step_scores == std::vector<std::optional<double>>{0.5, std::nullopt, 1.0});
    CHECK_FALSE(counted.ended->spent.usd);
    CHECK(counted.ended->took.whole == milliseconds(30));
    CHECK(counted.ended->transcript == "runs/s.0.0/attempt-2/transcript.json");
    CHECK(*reader->charged() == charge{165, 0.25});

    const auto unfinished = reader->unfinished_runs();
    REQUIRE(unfinished);
    REQUIRE(unfinished->size() == 2);
    CHECK((*unfinished)[0].run == run_number{1});
    CHECK((*unfinished)[0].requeued);
    CHECK((*unfinished)[1].open);
    const auto open = reader->open_attempts();
    REQUIRE(open);
    REQUIRE(open->size() == 1);
    CHECK(open->front().started.reserved == charge{1000, 0.5});
    CHECK(open->front().started.token.is_none());
    CHECK(open->front().noted.tokens.input == 70);
    CHECK(reader->open_leases()->empty());
    CHECK(*reader->assignment(run_number{2}, attempt_number{1}, {}) == assignment_standing::absent);

    // And it is written like any other.
    auto next = a_start(2, 2, 2);
    next.token = {3, 1};
    REQUIRE(file->append(std::vector<record>{settle(open->front(), some_day), next,
                                             lease_granted{"box", {3, 1}, milliseconds(1), some_day}}));
    REQUIRE(reader->refresh());
    CHECK(reader->open_attempts()->front().started.token == assignment_token{3, 1});
}

TEST_CASE("a migrated journal and a new one have the same tables") {
    const temporary_folder out;
    make_schema_1(out.path());
    REQUIRE(journal_file::resume(out.path()));
    REQUIRE(journal_file::create(out.path() / "new"));
    auto migrated = database::open(out.path() / journal_name, database::access::read);
    auto fresh = database::open(out.path() / "new" / journal_name, database::access::read);
    REQUIRE(migrated);
    REQUIRE(fresh);
    CHECK(layout(**migrated) == layout(**fresh));
}

TEST_CASE("an older journal is brought up to date before it is read, and is nobody's session by that") {
    const temporary_folder out;
    CHECK_FALSE(journal_file::bring_up_to_date(out.path()));
    make_schema_1(out.path());
    {
        auto lock = folder_lock::take(out.path());
        REQUIRE(lock);
        CHECK_FALSE(journal_file::bring_up_to_date(out.path()));
        CHECK(version_in(out.path()) == 1);
    }
    REQUIRE(journal_file::bring_up_to_date(out.path()));
    CHECK(version_in(out.path()) == static_cast<std::int64_t>(migrations().size()));
    CHECK(folder_lock::holder(out.path()).empty());
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK(reader->sweep()->sessions == 2);
    // Nothing is left to do, so that nobody who runs it is in the way.
    auto file = journal_file::resume(out.path());
    REQUIRE(file);
    CHECK(journal_file::bring_up_to_date(out.path()));
}
