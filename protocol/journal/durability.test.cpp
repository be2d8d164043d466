// What survives: SIGKILL between and inside batches, a damaged write-ahead file, a damaged journal, a full disk. Each
// writer is a process of its own, so that it can die as a process does.
#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/journal_file.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/journal_records.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <functional>
#include <random>

#include <fcntl.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

namespace {

constexpr std::uint64_t batch_size = 40; // more rows than fit on one page: half a batch would be seen

/// Batch `index`: runs index * batch_size and on, each started and ended.
std::vector<record> batch(std::uint64_t index) {
    std::vector<record> records;
    for (std::uint64_t run = index * batch_size; run < (index + 1) * batch_size; ++run) {
        records.emplace_back(a_start(run, 1));
        auto end = an_end(run, outcome::passed(), 0.5);
        end.transcript = fmt::format("runs/run-{}/attempt-1/transcript.json", run);
        records.emplace_back(std::move(end));
    }
    return records;
}

constexpr std::uint64_t many_cells = 1'000'000;

/// Forks; `work` says in the child what went wrong, or nothing. It is read to the end by `said`, which runs here.
void in_child(const std::function<void(int out)>& work, const std::function<void(int in, pid_t child)>& watch) {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const unique_fd in(ends[0]);
    unique_fd out(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) {
        work(out.get());
        ::_exit(0);
    }
    out.reset();
    watch(in.get(), child);
    int status = 0;
    REQUIRE(::waitpid(child, &status, 0) == child);
}

void say(int out, const std::string& text) {
    if (::write(out, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
        ::_exit(1);
    }
}

std::string read_all(int in) {
    std::string text;
    std::array<char, 4096> part{};
    ssize_t size = 0;
    while ((size = ::read(in, part.data(), part.size())) > 0) {
        text.append(part.data(), static_cast<std::size_t>(size));
    }
    return text;
}

/// In a child: what it must do before anything else can be tested.
void must(int out, const result<void>& done) {
    if (!done) {
        say(out, done.error().message);
        ::_exit(1);
    }
}

/// Whole batches that the journal holds. Fails the test when one is not whole, or there is a gap.
std::uint64_t whole_batches(const journal_reader& reader) {
    std::uint64_t runs = 0;
    bool in_order = true;
    const auto read = reader.for_each_run([&](const run_row& run) {
        in_order = in_order && run.run == run_number{runs} && run.counted() != nullptr;
        ++runs;
        return true;
    });
    REQUIRE(read);
    CHECK(in_order);
    CHECK(runs % batch_size == 0);
    return runs / batch_size;
}

std::uint64_t whole_batches(const std::filesystem::path& folder) {
    auto reader = journal_reader::open(folder);
    REQUIRE(reader);
    CHECK(reader->check());
    CHECK(reader->open_attempts()->empty());
    return whole_batches(*reader);
}

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

TEST_CASE("an I/O error fails a batch as a whole") {
    const temporary_folder out;
    in_child(
        [&](int to) {
            auto file = journal_file::create(out.path());
            if (!file) {
                must(to, file.error());
            }
            must(to, file->append(std::vector<record>{a_sweep(many_cells, 1)}));
            // A file that may not grow any more: EFBIG instead of a signal.
            std::signal(SIGXFSZ, SIG_IGN);
            rlimit limit{};
            ::getrlimit(RLIMIT_FSIZE, &limit);
            limit.rlim_cur = 256 * 1024;
            ::setrlimit(RLIMIT_FSIZE, &limit);
            std::uint64_t next = 0;
            auto done = file->append(batch(next));
            while (done) {
                done = file->append(batch(++next));
            }
            const auto trouble_then = file->last_trouble();
            limit.rlim_cur = limit.rlim_max;
            ::setrlimit(RLIMIT_FSIZE, &limit);
            must(to, file->append(batch(next))); // the same batch, tried again
            say(to, fmt::format("{}|{}|{}", next, static_cast<int>(trouble_then), done.error().message));
        },
        [&](int in, pid_t) {
            const auto said = read_all(in);
            INFO(said);
            const auto bar = said.find('|');
            REQUIRE(bar != std::string::npos);
            CHECK(said.substr(bar + 1, 1) == std::to_string(static_cast<int>(trouble::input_output)));
            CHECK(said.find("the journal took none of a batch") != std::string::npos);
            CHECK(whole_batches(out.path()) == std::stoull(said.substr(0, bar)) + 1);
        });
}

TEST_CASE("a full disk fails a batch as a whole, and the journal goes on once there is room") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root to mount a small disk: run the tests as root");
    }
    const temporary_folder out;
    in_child(
        [&](int to) {
            const auto disk = out.path() / "disk";
            std::filesystem::create_directory(disk);
            if (::unshare(CLONE_NEWNS) != 0 || ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0 ||
                ::mount("tmpfs", disk.c_str(), "tmpfs", 0, "size=1m") != 0) {
                say(to, fmt::format("skip {}", std::generic_category().message(errno)));
                ::_exit(0);
            }
            std::ofstream(disk / "ballast") << std::string(256 * 1024, 'x');
            const auto folder = disk / "sweep";
            auto file = journal_file::create(folder);
            if (!file) {
                must(to, file.error());
            }
            must(to, file->append(std::vector<record>{a_sweep(many_cells, 1)}));
            std::uint64_t next = 0;
            auto done = file->append(batch(next));
            while (done) {
                done = file->append(batch(++next));
            }
            const bool named = file->last_trouble() == trouble::disk_full &&
                               done.error().message.find("the disk is full") != std::string::npos;
            const auto held = [&] {
                auto reader = journal_reader::open(folder);
                return reader ? reader->finished_runs()->size() / batch_size : many_cells;
            };
            const bool whole = held() == next;
            std::filesystem::remove(disk / "ballast");
            const auto again = file->append(batch(next));
            say(to,
                fmt::format("named {} whole {} again {} held {}", named, whole, again.has_value(), held() == next + 1));
        },
        [&](int in, pid_t) {
            const auto said = read_all(in);
            if (said.starts_with("skip ")) {
                CHALK_SKIP("this machine lets even root mount no tmpfs: " + said.substr(5));
            }
            CHECK(said == "named true whole true again true held true");
        });
}
