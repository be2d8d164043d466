#include "runtimes/confinement/watchdog/watchdog.hpp"

#include "runtimes/process/spawn.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <atomic>
#include <csignal>
#include <future>

#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::confinement;
using namespace std::chrono_literals;

namespace {

constexpr uid_t student = 61'239; // nobody else's on this machine

process::child sleeper() {
    process::command what;
    what.executable = "/bin/sleep";
    what.arguments = {"300"};
    what.become = process::identity{student, student};
    return std::move(process::spawn(what).value());
}

int end_of(const process::child& one) {
    siginfo_t info{};
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(one.pidfd.get()), &info, WEXITED);
    return info.si_status;
}

} // namespace

TEST_CASE("a limit may be reached and not passed, and what is not limited is not looked at", "[watchdog]") {
    const student_usage used{100_MiB, 50_MiB, 7};
    CHECK_FALSE(passed_limit(used, {}));
    CHECK_FALSE(passed_limit(used, {100_MiB, 50_MiB, 7}));
    CHECK(passed_limit(used, {99_MiB, std::nullopt, std::nullopt}) == "memory: 100 MiB of 99 MiB");
    CHECK(passed_limit(used, {std::nullopt, 49_MiB, std::nullopt}) == "disk: 50 MiB of 49 MiB");
    CHECK(passed_limit(used, {std::nullopt, std::nullopt, 6}) == "processes: 7 of 6");
}

TEST_CASE("the student's files are counted, those of others and behind links are not", "[watchdog]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it gives files away");
    }
    const test::temporary_folder here;
    const std::string content(1 << 20, 'x');
    const auto mine = here.write("a/b/mine", content);
    here.write("a/roots", content);
    const test::temporary_folder elsewhere;
    const auto far = elsewhere.write("far", content);
    REQUIRE(::chown(mine.c_str(), student, student) == 0);
    REQUIRE(::chown(far.c_str(), student, student) == 0);
    std::filesystem::create_directory_symlink(elsewhere.path(), here.path() / "link");
    const auto used = measure_usage(student, {here.path(), here.path() / "not there"});
    CHECK(used.disk >= 1_MiB);
    CHECK(used.disk < 2_MiB);
}

TEST_CASE("past a limit all of the student's processes are killed, and nobody else's", "[watchdog]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it becomes another user");
    }
    const auto one = sleeper();
    const auto two = sleeper();
    CHECK(measure_usage(student, {}).processes == 2);
    CHECK(measure_usage(student, {}).memory > bytes{0});
    std::promise<std::string> tripped;
    {
        std::atomic<bool> once = false;
        const auto dog =
            watchdog::start({student, {std::nullopt, std::nullopt, 1}, {}, milliseconds{20}}, [&](std::string what) {
                if (!once.exchange(true)) {
                    tripped.set_value(std::move(what));
                }
            });
        CHECK(tripped.get_future().get() == "processes: 2 of 1");
    }
    CHECK(end_of(one) == SIGKILL);
    CHECK(end_of(two) == SIGKILL);
    CHECK(measure_usage(student, {}).processes == 0);
}

TEST_CASE("files that were there before do not count, what is written does, once its writer runs", "[watchdog]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it becomes another user");
    }
    const test::temporary_folder here;
    REQUIRE(::chown(here.path().c_str(), student, student) == 0);
    const auto given = here.write("given", std::string(8 << 20, 'x'));
    REQUIRE(::chown(given.c_str(), student, student) == 0);
    std::promise<std::string> tripped;
    std::atomic<bool> once = false;
    const auto dog =
        watchdog::start({student, {std::nullopt, 4_MiB, std::nullopt}, {here.path()}, 1ms}, [&](std::string what) {
            if (!once.exchange(true)) {
                tripped.set_value(std::move(what));
            }
        });
    process::command what;
    what.executable = "/bin/sh";
    what.arguments = {"-c", "i=0; while :; do i=$((i+1)); head -c 1000000 /dev/zero > f$i; done"};
    what.working_directory = here.path().string();
    what.become = process::identity{student, student};
    const auto writer = std::move(process::spawn(what).value());
    CHECK(tripped.get_future().get().ends_with(" of 4 MiB"));
    CHECK(end_of(writer) == SIGKILL);
}

TEST_CASE("within its limits the student is left alone", "[watchdog]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("needs root: it becomes another user");
    }
    const auto one = sleeper();
    {
        const auto dog =
            watchdog::start({student, {1_GiB, 1_GiB, 1}, {}, milliseconds{1}}, [](std::string) { FAIL(); });
    }
    CHECK(kill_all_of(student) >= 1);
    CHECK(end_of(one) == SIGKILL);
}
