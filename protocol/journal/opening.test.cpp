// Who may open a journal, which ones, and how an older one is brought up to date.
#include "protocol/journal/database.hpp"
#include "protocol/journal/folder_lock.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "protocol/journal/schema.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"
#include "tests/support/temporary_folder.hpp"

#include <array>

#include <unistd.h>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

bool mentions(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

journal_file new_sweep(const std::filesystem::path& folder) {
    auto file = journal_file::create(folder);
    REQUIRE(file);
    const std::vector<record> first = {a_sweep(1, 1)};
    const auto begun = file->append(first);
    REQUIRE(begun);
    return std::move(*file);
}

} // namespace

TEST_CASE("a folder's second sweep is refused and told who runs the first") {
    const temporary_folder out;
    CHECK(folder_lock::holder(out.path()).empty());
    {
        auto file = new_sweep(out.path());
        const auto me = fmt::format("process {} on ", ::getpid());
        for (const auto& second : {journal_file::create(out.path()), journal_file::resume(out.path())}) {
            REQUIRE_FALSE(second);
            CHECK(second.error().kind == error_class::config);
            CHECK(mentions(second.error().message, me));
        }
        CHECK(mentions(folder_lock::holder(out.path()), me));
    }
    CHECK(folder_lock::holder(out.path()).empty());
    auto again = journal_file::create(out.path());
    REQUIRE_FALSE(again);
    CHECK(mentions(again.error().message, "chalk sweep resume"));
    CHECK(journal_file::resume(out.path()));
}

TEST_CASE("a journal whose sweep never began can be begun") {
    const temporary_folder out;
    REQUIRE(journal_file::create(out.path()));
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK(mentions(reader->sweep().error().message, "never started"));
    CHECK(journal_file::create(out.path()));
}

TEST_CASE("a resumed sweep has not ended until it ends again") {
    const temporary_folder out;
    {
        auto file = new_sweep(out.path());
        REQUIRE(file.append(std::vector<record>{sweep_ended{some_day, false, "interrupted"}}));
    }
    auto resumed = journal_file::resume(out.path());
    REQUIRE(resumed);
    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK_FALSE(reader->sweep()->ended);
    CHECK(reader->sweep()->sessions == 2);
}

TEST_CASE("a finished sweep can be read by who may not write to its folder") {
    const temporary_folder out;
    new_sweep(out.path());
    namespace fs = std::filesystem;
    const auto everyone = fs::perms::owner_exec | fs::perms::group_exec | fs::perms::others_exec;
    fs::permissions(out.path(), everyone);
    constexpr uid_t nobody = 65534;
    const bool root = ::geteuid() == 0; // whom no permission stops
    REQUIRE((!root || ::seteuid(nobody) == 0));
    auto reader = journal_reader::open(out.path());
    REQUIRE((!root || ::seteuid(0) == 0));
    fs::permissions(out.path(), fs::perms::owner_all);
    REQUIRE(reader);
    CHECK(reader->sweep()->opened.name == "a sweep");
    CHECK(reader->check());
    fs::permissions(out.path(), fs::perms::none);
    REQUIRE((!root || ::seteuid(nobody) == 0));
    const auto closed = journal_reader::open(out.path());
    REQUIRE((!root || ::seteuid(0) == 0));
    fs::permissions(out.path(), fs::perms::owner_all);
    CHECK(mentions(closed.error().message, "Permission denied"));
}

TEST_CASE("a folder without a sweep, another program's database and other files are told apart") {
    const temporary_folder out;
    CHECK(mentions(journal_reader::open(out.path()).error().message, "there is no sweep in"));
    CHECK(mentions(journal_file::resume(out.path()).error().message, "there is no sweep in"));

    const auto file = out.write("journal.sqlite", std::string(8192, 'x'));
    CHECK(mentions(journal_reader::open(out.path()).error().message, "is no journal"));
    CHECK(mentions(journal_file::resume(out.path()).error().message, "is no journal"));
    CHECK(mentions(journal_file::create(out.path()).error().message, "is no journal"));

    std::filesystem::remove(file);
    {
        auto other = database::open(file, database::access::create);
        REQUIRE(other);
        REQUIRE((*other)->execute("CREATE TABLE x (y)"));
    }
    CHECK(mentions(journal_reader::open(out.path()).error().message, "another program"));
    CHECK(mentions(journal_file::create(out.path()).error().message, "another program"));
}

TEST_CASE("a journal of a newer chalk is refused by readers and writers") {
    const temporary_folder out;
    new_sweep(out.path());
    {
        auto newer = database::open(out.path() / journal_name, database::access::write);
        REQUIRE(newer);
        REQUIRE((*newer)->execute(fmt::format("PRAGMA user_version = {}", migrations().size() + 1)));
    }
    CHECK(mentions(journal_reader::open(out.path()).error().message, "newer chalk"));
    CHECK(mentions(journal_file::resume(out.path()).error().message, "newer chalk"));
}

TEST_CASE("an older journal is migrated step by step, or not at all") {
    const temporary_folder out;
    const auto file = out.path() / "old.sqlite";
    auto journal = database::open(file, database::access::create);
    REQUIRE(journal);
    auto& old = **journal;
    // Made by hand, as a chalk of schema 1 would have left it.
    REQUIRE(old.execute(fmt::format("CREATE TABLE a (x INTEGER); INSERT INTO a VALUES (7); PRAGMA application_id = {}; "
                                    "PRAGMA user_version = 1",
                                    application_id)));
    const migration never = [](database&) -> result<void> { return harness_failure("step 1 must not run again"); };
    const migration add_column = [](database& d) { return d.execute("ALTER TABLE a ADD COLUMN y INTEGER DEFAULT 8"); };
    const migration add_table = [](database& d) { return d.execute("CREATE TABLE b AS SELECT x + y AS z FROM a"); };
    const migration fails = [](database& d) { return d.execute("INSERT INTO no_such_table VALUES (1)"); };

    const std::array three = {never, add_column, fails};
    REQUIRE_FALSE(migrate(old, three));
    CHECK(*old.query_integer("PRAGMA user_version") == 1);
    CHECK(*old.query_integer("SELECT count(*) FROM pragma_table_info('a')") == 1);
    CHECK(mentions(check_version(old, three).error().message, "older chalk"));

    const std::array good = {never, add_column, add_table};
    REQUIRE(migrate(old, good));
    CHECK(*old.query_integer("PRAGMA user_version") == 3);
    CHECK(*old.query_integer("SELECT z FROM b") == 15);
    CHECK(check_version(old, good));
    CHECK(migrate(old, good)); // nothing left to do
    CHECK(mentions(migrate(old, std::span(good).first(2)).error().message, "newer chalk"));
}
