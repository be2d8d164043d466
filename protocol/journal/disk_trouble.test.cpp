// A journal that cannot be written: an I/O error, a full disk.
#include "protocol/journal/batches.test.hpp"
#include "tests/support/temporary_folder.hpp"

#include <cerrno>
#include <csignal>
#include <fstream>
#include <system_error>

#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>

using namespace chalk;
using namespace chalk::journal;
using namespace chalk::test;

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
