// What survives: SIGKILL between and inside batches, a damaged write-ahead file, a damaged journal.
#include "protocol/journal/batches.test.hpp"
#include "tests/support/temporary_folder.hpp"

#include <csignal>
#include <fstream>
#include <random>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

/// A journal of `batches` whose writer died, so that its write-ahead file is still there.
void leave_behind(const std::filesystem::path& folder, std::uint64_t batches) {
    in_child(
        [&](int out) {
            auto file = journal_file::create(folder);
            if (!file) {
                must(out, file.error());
            }
            must(out, file->append(std::vector<record>{a_sweep(many_cells, 1)}));
            for (std::uint64_t i = 0; i < batches; ++i) {
                must(out, file->append(batch(i)));
            }
            ::_exit(0); // before the journal's destructor would close it in order
        },
        [](int in, pid_t) { CHECK(read_all(in).empty()); });
}

std::filesystem::path write_ahead_file(const std::filesystem::path& folder) {
    return (folder / journal_name).string() + "-wal";
}

void garble(const std::filesystem::path& file, std::uint64_t at, std::size_t size) {
    std::fstream out(file, std::ios::binary | std::ios::in | std::ios::out);
    out.seekp(static_cast<std::streamoff>(at));
    out << std::string(size, '\x5a');
    REQUIRE(out.flush());
}

} // namespace

TEST_CASE("SIGKILL at any moment loses no batch that was confirmed and leaves none by half") {
    std::mt19937 random(20260731); // NOLINT(cert-msc51-cpp): the same moments each time, as far as they can be
    const temporary_folder out;
    std::uint64_t confirmed = 0;
    for (int round = 0; round < 15; ++round) {
        const auto until = confirmed + std::uniform_int_distribution<std::uint64_t>(0, 12)(random);
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
                auto next = round == 0 ? 0 : [&] {
                    auto reader = journal_reader::open(out.path());
                    return reader ? reader->finished_runs()->size() / batch_size : many_cells;
                }();
                for (;; ++next) {
                    must(to, file->append(batch(next)));
                    say(to, ".");
                }
            },
            [&](int in, pid_t child) {
                // One dot says that the journal is open; every further one that a batch is confirmed.
                char dot = 0;
                REQUIRE(::read(in, &dot, 1) == 1);
                REQUIRE(dot == '.');
                for (auto now = confirmed; now < until; ++now) {
                    REQUIRE(::read(in, &dot, 1) == 1);
                    REQUIRE(dot == '.');
                }
                REQUIRE(::kill(child, SIGKILL) == 0);
                const auto rest = read_all(in);
                CHECK(rest.find_first_not_of('.') == std::string::npos);
                confirmed = until + rest.size();
            });
        const auto held = whole_batches(out.path());
        CHECK(held >= confirmed);
        CHECK(held <= confirmed + 1); // the one under way may have made it
        confirmed = held;
    }
    CHECK(confirmed > 0);
}

TEST_CASE("a write-ahead file that is cut off or garbled loses what follows the damage and nothing before it") {
    const temporary_folder out;
    leave_behind(out.path() / "whole", 10);
    const auto size = std::filesystem::file_size(write_ahead_file(out.path() / "whole"));
    CHECK(whole_batches(out.path() / "whole") == 10);
    std::uint64_t last = 0;
    for (const auto share : {3U, 5U, 8U, 10U}) {
        for (const bool cut : {true, false}) {
            INFO(share << " tenths, " << (cut ? "cut off" : "garbled"));
            const auto folder = out.path() / fmt::format("{}-{}", share, cut);
            leave_behind(folder, 10);
            const auto at = size * share / 10 - 100;
            if (cut) {
                std::filesystem::resize_file(write_ahead_file(folder), at);
            } else {
                garble(write_ahead_file(folder), at, 50);
            }
            // What a dead writer left in shared memory describes the file before the damage, as after a power cut.
            std::filesystem::remove((folder / journal_name).string() + "-shm");
            const auto held = whole_batches(folder);
            CHECK(held < 10);
            CHECK(held >= last);
            last = held;
            auto resumed = journal_file::resume(folder);
            REQUIRE(resumed);
            CHECK(resumed->append(batch(held)));
            CHECK(whole_batches(folder) == held + 1);
        }
    }
    CHECK(last > 0);
}

TEST_CASE("a damaged journal is refused with what to do, and read as far as it can be") {
    const temporary_folder out;
    {
        auto file = journal_file::create(out.path());
        REQUIRE(file);
        REQUIRE(file->append(std::vector<record>{a_sweep(many_cells, 1)}));
        for (std::uint64_t i = 0; i < 30; ++i) {
            REQUIRE(file->append(batch(i)));
        }
    }
    const auto journal = out.path() / journal_name;
    garble(journal, std::filesystem::file_size(journal) / 2, 8192);
    const auto resumed = journal_file::resume(out.path());
    REQUIRE_FALSE(resumed);
    CHECK(resumed.error().kind == error_class::harness);
    CHECK(resumed.error().message.find("chalk sweep export") != std::string::npos);

    auto reader = journal_reader::open(out.path());
    REQUIRE(reader);
    CHECK_FALSE(reader->check());
    std::uint64_t runs = 0;
    const auto read = reader->for_each_run([&](const run_row& run) {
        CHECK(run.run == run_number{runs++});
        return true;
    });
    REQUIRE_FALSE(read);
    CHECK(read.error().message.find("damaged") != std::string::npos);
    CHECK(runs > 0);
}
