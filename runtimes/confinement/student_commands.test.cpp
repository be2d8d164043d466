#include "runtimes/confinement/student_commands.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <sstream>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>

using namespace chalk;
using confinement::command_result;
using confinement::student_command;
using confinement::student_commands;
using confinement::student_settings;

namespace {

constexpr seconds patience{30};

/// A pids group of cgroup v1 with a folder for calls, as the host makes it. Empty where that is not possible.
class calls_group {
  public:
    calls_group() : path_(fmt::format("/sys/fs/cgroup/pids/chalk_calls_test_{}", ::getpid())) {
        std::error_code failed;
        if (std::filesystem::create_directory(path_, failed)) {
            folder_.reset(::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
            procs_.reset(::open((path_ / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
        }
    }
    calls_group(const calls_group&) = delete;
    calls_group& operator=(const calls_group&) = delete;
    ~calls_group() {
        if (folder_) {
            ::rmdir(path_.c_str());
        }
    }
    [[nodiscard]] bool usable() const { return static_cast<bool>(procs_); }
    [[nodiscard]] confinement::student_cgroup descriptors() const { return {{procs_.get()}, folder_.get(), false}; }
    [[nodiscard]] int groups() const {
        int count = 0;
        for (const auto& entry : std::filesystem::directory_iterator(path_)) {
            count += entry.is_directory() ? 1 : 0;
        }
        return count;
    }

  private:
    std::filesystem::path path_;
    unique_fd folder_;
    unique_fd procs_;
};

student_settings plain_settings() {
    student_settings settings;
    if (::geteuid() == 0) {
        settings.become = process::identity{61234, 61234}; // nobody else's on this machine
    }
    settings.home = "/";
    settings.working_directory = "/";
    settings.environment = {"PATH=/usr/bin:/bin", "HOME=/", "LANG=C.UTF-8"};
    return settings;
}

student_command shell(std::string script, milliseconds timeout = milliseconds(20'000)) {
    student_command what;
    what.argv = {"/bin/sh", "-c", std::move(script)};
    what.timeout = timeout;
    what.grace = milliseconds(200);
    return what;
}

std::future<result<command_result>> start(student_commands& commands, student_command what,
                                          std::uint64_t* number = nullptr) {
    auto promise = std::make_shared<std::promise<result<command_result>>>();
    auto future = promise->get_future();
    const auto id = commands.run(std::move(what), [promise](auto outcome) { promise->set_value(std::move(outcome)); });
    if (number != nullptr) {
        *number = id;
    }
    return future;
}

command_result run(student_commands& commands, student_command what) {
    auto future = start(commands, std::move(what));
    REQUIRE(future.wait_for(patience) == std::future_status::ready);
    auto outcome = future.get();
    if (!outcome) {
        FAIL(outcome.error().message);
    }
    return *outcome;
}

/// The pid that a command printed as its last line, as something that can be waited for.
unique_fd watch(const std::string& output) {
    const auto pid = std::stoi(output);
    return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool ended(const unique_fd& pidfd, int wait_ms) {
    if (!pidfd) {
        return true; // it was gone, and reaped, before we could look
    }
    pollfd ready{pidfd.get(), POLLIN, 0};
    return ::poll(&ready, 1, wait_ms) == 1;
}

/// Entries of /proc that belong to `user`, ended ones included.
int processes_of(uid_t user) {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        struct stat about {};
        count += ::stat(entry.path().c_str(), &about) == 0 && about.st_uid == user ? 1 : 0;
    }
    return count;
}

/// Runs a test with a cgroup per call where there are any, and without.
template<class Test>
void in_both_ways(const Test& test) {
    {
        io_thread io;
        INFO("without cgroups");
        auto commands = student_commands::make(io.context(), plain_settings());
        test(*commands);
    }
    calls_group group;
    if (!group.usable()) {
        CHALK_SKIP("no writable cgroup v1 pids controller: only the way without cgroups was tested");
    }
    io_thread io;
    INFO("with a cgroup per call");
    auto settings = plain_settings();
    settings.cgroup = group.descriptors();
    auto commands = student_commands::make(io.context(), std::move(settings));
    test(*commands);
    commands->kill_all();
    // The next result comes after the clean-up of the last; then no group is left.
    for (int i = 0; i < 500 && group.groups() > 0; ++i) {
        run(*commands, shell("true"));
    }
    CHECK(group.groups() == 0);
}

} // namespace

TEST_CASE("a command's output, exit code and input are as in a shell") {
    in_both_ways([](student_commands& commands) {
        auto what = shell("cat; echo err >&2; exit 3");
        what.input = "in\n";
        const auto seen = run(commands, what);
        CHECK(seen.output == "in\nerr\n");
        CHECK(seen.status.code == 3);
        CHECK_FALSE(seen.timed_out);
        CHECK(run(commands, shell("cat")).output.empty()); // no input is an empty one
        CHECK(run(commands, shell("kill -9 $$")).status.signal == SIGKILL);
        CHECK(run(commands, shell("printf 'a\\377z'")).output == "a\xef\xbf\xbdz");
    });
}

TEST_CASE("a command that cannot be started is a failure with its reason") {
    in_both_ways([](student_commands& commands) {
        student_command what;
        what.argv = {"/no/such/program"};
        auto future = start(commands, what);
        REQUIRE(future.wait_for(patience) == std::future_status::ready);
        const auto outcome = future.get();
        REQUIRE(outcome.has_error());
        CHECK(outcome.error().message.find("/no/such/program: exec: No such file") != std::string::npos);
    });
}

TEST_CASE("an endless printer ends in a bounded result") {
    in_both_ways([](student_commands& commands) {
        auto what = shell("head -c 300000000 /dev/zero | tr '\\0' x; echo; echo end");
        what.output_cap = bytes{1000};
        const auto seen = run(commands, what);
        CHECK(seen.output.size() < 1100);
        CHECK(seen.omitted_bytes == 300000000 + 5 - 1000);
        CHECK(seen.output.substr(seen.output.size() - 6) == "x\nend\n");
        const auto forever = run(commands, shell("yes", milliseconds(300)));
        CHECK(forever.timed_out);
        CHECK(forever.omitted_bytes > 0);
    });
}

TEST_CASE("a command that runs out of time takes all that it started along") {
    in_both_ways([](student_commands& commands) {
        // The child ignores SIGTERM, leads a session of its own and has lost its parent.
        const auto seen =
            run(commands, shell("trap '' TERM; (setsid sh -c 'trap \"\" TERM; echo $$; exec sleep 1000' &) ; "
                                "exec sleep 1000",
                                milliseconds(500)));
        CHECK(seen.timed_out);
        CHECK(seen.status.signal == SIGKILL);
        CHECK(ended(watch(seen.output), 5'000));
    });
}

TEST_CASE("a command may use its grace to end in order") {
    in_both_ways([](student_commands& commands) {
        auto what = shell("trap 'echo bye; exit 5' TERM; sleep 1000 & wait", milliseconds(300));
        what.grace = milliseconds(10'000);
        const auto seen = run(commands, what);
        CHECK(seen.timed_out);
        CHECK(seen.output == "bye\n");
        CHECK(seen.status.code == 5);
        CHECK(seen.duration < seconds(8));
    });
}

TEST_CASE("a command that closes its streams is waited for") {
    in_both_ways([](student_commands& commands) {
        const auto seen = run(commands, shell("exec >&- 2>&-; sleep 0.3; exit 4"));
        CHECK(seen.status.code == 4);
        CHECK(seen.duration >= milliseconds(300));
    });
}

TEST_CASE("background processes outlive their call, may print, and die with kill_all") {
    in_both_ways([](student_commands& commands) {
        const auto seen = run(commands, shell("(trap '' PIPE; while echo x; do sleep 0.01; done) & echo $!"));
        CHECK(seen.status.success());
        CHECK(seen.duration < seconds(15));
        const auto background = watch(seen.output.substr(seen.output.find_first_of("0123456789")));
        const auto hidden = run(commands, shell("(setsid sh -c 'echo $$; exec sleep 1000' &); sleep 0.2"));
        const auto hidden_pid = watch(hidden.output);
        CHECK_FALSE(ended(background, 100)); // a broken pipe would have ended its loop
        CHECK_FALSE(ended(hidden_pid, 0));
        commands.kill_all();
        CHECK(ended(background, 5'000));
        CHECK(ended(hidden_pid, 5'000));
        CHECK(run(commands, shell("echo on")).output == "on\n");
    });
}

TEST_CASE("kill_all says when nothing is left, and whether there was anything", "[commands]") {
    in_both_ways([](student_commands& commands) {
        const auto kill = [&commands] {
            auto promise = std::make_shared<std::promise<confinement::kill_report>>();
            auto future = promise->get_future();
            commands.kill_all([promise](confinement::kill_report report) { promise->set_value(report); });
            REQUIRE(future.wait_for(patience) == std::future_status::ready);
            return future.get();
        };
        CHECK_FALSE(kill().found);
        run(commands, shell("true"));
        CHECK_FALSE(kill().found);
        const auto left =
            run(commands, shell("(setsid sh -c 'trap \"\" TERM HUP; echo $$; exec sleep 1000' &); sleep 0.2"));
        const auto pid = watch(left.output);
        auto running = start(commands, shell("exec sleep 1000"));
        const auto report = kill();
        CHECK(report.found);
        CHECK_FALSE(report.survived);
        CHECK(ended(pid, 0)); // by then, and not a moment later
        CHECK(running.wait_for(seconds(0)) == std::future_status::ready);
        CHECK_FALSE(kill().found);
        CHECK(run(commands, shell("echo on")).output == "on\n");
    });
}

TEST_CASE("after kill_all no process of the student is in /proc, not even one that is not reaped", "[commands]") {
    if (::geteuid() != 0) {
        CHALK_SKIP("a student of its own needs root");
    }
    in_both_ways([](student_commands& commands) {
        const auto student = commands.settings().become->uid;
        for (int round = 0; round < 25; ++round) {
            run(commands, shell("for i in 1 2 3 4 5 6 7 8; do (setsid sleep 1000 &); done; sleep 0.02"));
            std::promise<confinement::kill_report> killed;
            commands.kill_all([&killed](confinement::kill_report report) { killed.set_value(report); });
            auto report = killed.get_future();
            REQUIRE(report.wait_for(patience) == std::future_status::ready);
            const auto what = report.get();
            CHECK(what.found); // also when all of them were dead before anybody counted
            CHECK_FALSE(what.survived);
            REQUIRE(processes_of(student) == 0);
        }
    });
}

TEST_CASE("a cancelled command still gives its result, once, at once") {
    in_both_ways([](student_commands& commands) {
        std::uint64_t number = 0;
        auto future = start(commands, shell("echo begun; sleep 1000 & sleep 1000"), &number);
        commands.cancel(number + 1000); // of nobody
        CHECK(future.wait_for(milliseconds(200)) == std::future_status::timeout);
        commands.cancel(number);
        REQUIRE(future.wait_for(seconds(5)) == std::future_status::ready);
        const auto outcome = future.get();
        REQUIRE(outcome.has_value());
        CHECK(outcome->cancelled);
        CHECK_FALSE(outcome->timed_out);
        CHECK(outcome->output == "begun\n");
    });
}

TEST_CASE("a fork bomb ends with its call") {
    calls_group group;
    if (!group.usable()) {
        CHALK_SKIP("no writable cgroup v1 pids controller");
    }
    std::ofstream(fmt::format("/sys/fs/cgroup/pids/chalk_calls_test_{}/pids.max", ::getpid())) << "200";
    io_thread io;
    auto settings = plain_settings();
    settings.cgroup = group.descriptors();
    auto commands = student_commands::make(io.context(), std::move(settings));
    const auto seen = run(*commands, shell("b() { b | b & }; b; sleep 1000", milliseconds(500)));
    CHECK(seen.timed_out);
    CHECK(run(*commands, shell("echo free")).output == "free\n"); // the group's processes are all gone
    commands->kill_all();
    for (int i = 0; i < 500 && group.groups() > 0; ++i) {
        run(*commands, shell("true"));
    }
    CHECK(group.groups() == 0);
}

TEST_CASE("many commands run at once and none is lost") {
    in_both_ways([](student_commands& commands) {
        std::vector<std::future<result<command_result>>> futures;
        futures.reserve(100);
        for (int i = 0; i < 100; ++i) {
            futures.push_back(start(commands, shell(fmt::format("echo {}", i))));
        }
        for (int i = 0; i < 100; ++i) {
            auto& future = futures[static_cast<std::size_t>(i)];
            REQUIRE(future.wait_for(patience) == std::future_status::ready);
            CHECK(future.get().value().output == fmt::format("{}\n", i));
        }
    });
}

TEST_CASE("the owner's end kills what runs, and its results still come") {
    io_thread io;
    auto commands = student_commands::make(io.context(), plain_settings());
    auto running = start(*commands, shell("sleep 1000"));
    CHECK(running.wait_for(milliseconds(100)) == std::future_status::timeout);
    commands.reset();
    REQUIRE(running.wait_for(seconds(10)) == std::future_status::ready);
    CHECK(running.get().value().cancelled);
}
