// What a coordinator's numbers and decisions rest on: a process's number is on the disk before anything is named by it,
// and a lease's end and the losses of its runs are there together or not at all.
#include "protocol/journal/batches.test.hpp"
#include "protocol/journal/trouble.hpp"
#include "tests/support/temporary_folder.hpp"

#include <csignal>
#include <random>

#include <sqlite3.h>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

constexpr std::uint64_t runs_of_lease = 40; // more rows than fit on one page

/// Lease `number` and all that its node is given.
std::vector<record> taken_on(std::uint64_t number) {
    std::vector<record> records{lease_granted{"box", {1, number}, milliseconds(60'000), some_day}};
    for (std::uint64_t i = 0; i < runs_of_lease; ++i) {
        auto start = a_start(number * runs_of_lease + i, 1);
        start.token = {1, number * runs_of_lease + i};
        records.emplace_back(std::move(start));
    }
    return records;
}

/// Its end, and what follows from it.
std::vector<record> lost_with(std::uint64_t number) {
    std::vector<record> records{lease_ended{"box", {1, number}, some_day}};
    for (std::uint64_t i = 0; i < runs_of_lease; ++i) {
        records.emplace_back(
            an_end(number * runs_of_lease + i, outcome::error(error_class::node_lost, "gone"), {}, verdict::lost));
    }
    return records;
}

/// Steps that the journal holds, two a lease: taken on, lost. Fails the test when one is there by half.
std::uint64_t whole_steps(const std::filesystem::path& folder) {
    auto reader = journal_reader::open(folder);
    REQUIRE(reader);
    CHECK(reader->check());
    std::uint64_t runs = 0;
    REQUIRE(reader->for_each_run([&](const run_row&) {
        ++runs;
        return true;
    }));
    CHECK(runs % runs_of_lease == 0);
    const auto leases = reader->open_leases();
    const auto open = reader->open_attempts();
    REQUIRE(leases);
    REQUIRE(open);
    const auto granted = runs / runs_of_lease;
    if (leases->empty()) {
        CHECK(open->empty());
        return granted * 2;
    }
    CHECK(leases->size() == 1);
    CHECK(leases->front().number == assignment_token{1, granted});
    CHECK(open->size() == runs_of_lease);
    return granted * 2 - 1;
}

/// SQLite's own file access, with an eye on the write-ahead file: whether anything of it is written and not synced.
class watched_files {
  public:
    watched_files() {
        system_ = sqlite3_vfs_find(nullptr);
        watched_ = *system_;
        watched_.zName = "watched";
        watched_.xOpen = &open;
        unsynced_ = false;
        syncs_ = 0;
        sqlite3_vfs_register(&watched_, 1);
    }
    watched_files(const watched_files&) = delete;
    watched_files& operator=(const watched_files&) = delete;
    ~watched_files() { sqlite3_vfs_unregister(&watched_); }

    [[nodiscard]] static bool all_synced() { return !unsynced_; }
    [[nodiscard]] static int syncs() { return syncs_; }

  private:
    static int open(sqlite3_vfs*, sqlite3_filename name, sqlite3_file* file, int flags, int* out) {
        const int code = system_->xOpen(system_, name, file, flags, out);
        if (code == SQLITE_OK && (flags & SQLITE_OPEN_WAL) != 0) {
            methods_ = file->pMethods;
            watched_methods_ = *methods_;
            watched_methods_.xWrite = &write;
            watched_methods_.xSync = &sync;
            file->pMethods = &watched_methods_;
        }
        return code;
    }
    static int write(sqlite3_file* file, const void* from, int size, sqlite3_int64 at) {
        unsynced_ = true;
        return methods_->xWrite(file, from, size, at);
    }
    static int sync(sqlite3_file* file, int flags) {
        const int code = methods_->xSync(file, flags);
        unsynced_ = unsynced_ && code != SQLITE_OK;
        ++syncs_;
        return code;
    }

    static inline sqlite3_vfs* system_ = nullptr;
    static inline sqlite3_vfs watched_{};
    static inline const sqlite3_io_methods* methods_ = nullptr;
    static inline sqlite3_io_methods watched_methods_{};
    static inline bool unsynced_ = false;
    static inline int syncs_ = 0;
};

/// The number of a process that opens the journal and is killed as soon as it knows it.
std::string number_of_killed(const std::filesystem::path& folder) {
    std::string said;
    in_child(
        [&](int to) {
            auto file = std::filesystem::exists(folder / journal_name) ? journal_file::resume(folder)
                                                                       : journal_file::create(folder);
            if (!file) {
                must(to, file.error());
            }
            say(to, std::to_string(file->session()));
            ::raise(SIGKILL);
        },
        [&](int in, pid_t) { said = read_all(in); });
    return said;
}

} // namespace

TEST_CASE("each process that opens a journal has a number of its own, also when the one before was killed at once") {
    const temporary_folder out;
    CHECK(number_of_killed(out.path()) == "1");
    {
        // Its sweep never began, so that it is begun anew: that is another process all the same.
        auto file = journal_file::create(out.path());
        REQUIRE(file);
        CHECK(file->session() == 2);
        REQUIRE(file->append(std::vector<record>{a_sweep(1, 1)}));
        CHECK_FALSE(journal_file::resume(out.path())); // refused, and not counted
    }
    CHECK(number_of_killed(out.path()) == "3");
    CHECK(number_of_killed(out.path()) == "4");
    auto file = journal_file::resume(out.path());
    REQUIRE(file);
    CHECK(file->session() == 5);
    CHECK(journal_reader::open(out.path())->sweep()->sessions == 5);
}

TEST_CASE("the number of a process is synced before it is told") {
    const temporary_folder out;
    const watched_files files;
    {
        auto file = journal_file::create(out.path());
        REQUIRE(file);
        CHECK(file->session() == 1);
        CHECK(files.all_synced());
        CHECK(files.syncs() > 0);
        REQUIRE(file->append(std::vector<record>{a_sweep(1, 1)}));
    }
    const auto before = files.syncs();
    auto file = journal_file::resume(out.path());
    REQUIRE(file);
    CHECK(file->session() == 2);
    CHECK(files.all_synced());
    CHECK(files.syncs() > before);
}

TEST_CASE("a lease's end is refused with the losses of its runs, and they with it") {
    const temporary_folder out;
    auto file = journal_file::create(out.path());
    REQUIRE(file);
    REQUIRE(file->append(std::vector<record>{a_sweep(many_cells, 1)}));
    REQUIRE(file->append(taken_on(1)));
    auto too_many = lost_with(1);
    too_many.emplace_back(an_end(0, outcome::error(error_class::node_lost, "gone"), {}, verdict::lost));
    CHECK_FALSE(file->append(too_many)); // run 0 was never started
    CHECK(file->last_trouble() == trouble::contradiction);
    CHECK(whole_steps(out.path()) == 1);
    auto wrong_lease = lost_with(1);
    std::swap(wrong_lease.front(), wrong_lease.back());
    wrong_lease.back() = lease_ended{"box", {1, 2}, some_day};
    CHECK_FALSE(file->append(wrong_lease));
    CHECK(whole_steps(out.path()) == 1);
    REQUIRE(file->append(lost_with(1)));
    CHECK(whole_steps(out.path()) == 2);
    CHECK_FALSE(file->append(lost_with(1)));
    REQUIRE(file->append(taken_on(2)));
    CHECK(whole_steps(out.path()) == 3);
}

TEST_CASE("SIGKILL at any moment leaves a lease's end and the losses of its runs together") {
    std::mt19937 random(20261201); // NOLINT(cert-msc51-cpp): the same moments each time, as far as they can be
    const temporary_folder out;
    std::uint64_t confirmed = 0;
    for (int round = 0; round < 12; ++round) {
        const auto until = confirmed + std::uniform_int_distribution<std::uint64_t>(0, 9)(random);
        in_child(
            [&](int to) {
                auto file = round == 0 ? journal_file::create(out.path()) : journal_file::resume(out.path());
                if (!file) {
                    must(to, file.error());
                }
                if (round == 0) {
                    must(to, file->append(std::vector<record>{a_sweep(many_cells, 1)}));
                }
                say(to, ".");
                for (auto step = confirmed;; ++step) {
                    const auto number = step / 2 + 1;
                    must(to, file->append(step % 2 == 0 ? taken_on(number) : lost_with(number)));
                    say(to, ".");
                }
            },
            [&](int in, pid_t child) {
                // One dot says that the journal is open; every further one that a step is confirmed.
                char dot = 0;
                for (auto now = confirmed; now <= until; ++now) {
                    REQUIRE(::read(in, &dot, 1) == 1);
                    REQUIRE(dot == '.');
                }
                REQUIRE(::kill(child, SIGKILL) == 0);
                const auto rest = read_all(in);
                CHECK(rest.find_first_not_of('.') == std::string::npos);
                confirmed = until + rest.size();
            });
        const auto held = whole_steps(out.path());
        CHECK(held >= confirmed);
        CHECK(held <= confirmed + 1); // the one under way may have made it
        confirmed = held;
    }
    CHECK(confirmed > 0);
}
