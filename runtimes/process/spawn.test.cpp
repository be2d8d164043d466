#include "runtimes/process/spawn.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace process = chalk::process;

namespace {

/// Waits as a test may: until it ends, at most ten seconds.
process::exit_status wait_for(const process::child& c) {
    pollfd ready{c.pidfd.get(), POLLIN, 0};
    REQUIRE(::poll(&ready, 1, 10'000) == 1);
    siginfo_t info{};
    REQUIRE(::waitid(P_PIDFD, static_cast<id_t>(c.pidfd.get()), &info, WEXITED) == 0);
    return info.si_code == CLD_EXITED ? process::exit_status{info.si_status, 0}
                                      : process::exit_status{0, info.si_status};
}

std::string read_all(int fd) {
    std::string out;
    char part[4096];
    for (;;) {
        const auto n = ::read(fd, part, sizeof part);
        if (n <= 0) {
            return out;
        }
        out.append(part, static_cast<std::size_t>(n));
    }
}

process::command shell(const std::string& script) {
    process::command what;
    what.executable = "/bin/sh";
    what.arguments = {"-c", script};
    what.environment = {"PATH=/usr/bin:/bin"};
    return what;
}

struct ended {
    process::exit_status status;
    std::string output;
};

/// Runs `what` with its stdout and stderr in a pipe.
ended run(process::command what) {
    auto pipe = process::make_pipe().value();
    what.descriptors.push_back({pipe.write.get(), 1});
    what.descriptors.push_back({pipe.write.get(), 2});
    const auto c = process::spawn(what);
    if (!c) {
        FAIL(c.error().message);
    }
    pipe.write.reset();
    auto output = read_all(pipe.read.get());
    return {wait_for(*c), std::move(output)};
}

bool is_root() {
    return ::geteuid() == 0;
}

} // namespace

TEST_CASE("spawn reports exit codes and signals") {
    CHECK(run(shell("exit 0")).status.success());
    CHECK(run(shell("exit 7")).status.code == 7);
    CHECK(run(shell("kill -TERM $$")).status.signal == SIGTERM);
    CHECK(process::describe({7, 0}) == "exit code 7");
    CHECK(process::describe({0, SIGKILL}) == "killed by signal 9 (SIGKILL)");
    CHECK(process::describe({process::exit_status::lost, 0}) == "ended with an unknown status");
}

TEST_CASE("a child gets exactly the descriptors that were named") {
    const chalk::unique_fd inheritable(::open("/dev/null", O_RDONLY)); // deliberately without O_CLOEXEC
    const chalk::unique_fd far_away(::fcntl(inheritable.get(), F_DUPFD, 500));
    REQUIRE(far_away.get() >= 500);

    // ls itself opens the folder as 3.
    CHECK(run(shell("exec ls /proc/self/fd")).output == "0\n1\n2\n3\n");
    CHECK(run(shell("exec readlink /proc/self/fd/0")).output == "/dev/null\n");
}

TEST_CASE("descriptors may swap their numbers on the way down") {
    auto first = process::make_pipe().value();
    auto second = process::make_pipe().value();
    const int a = first.read.get();
    const int b = second.read.get();
    REQUIRE(::write(first.write.get(), "first\n", 6) == 6);
    REQUIRE(::write(second.write.get(), "second\n", 7) == 7);

    auto what = shell(fmt::format("head -n1 /proc/self/fd/{}; head -n1 /proc/self/fd/{}", a, b));
    what.descriptors = {{a, b}, {b, a}};
    first.write.reset();
    second.write.reset();
    CHECK(run(what).output == "second\nfirst\n");
}

namespace {

/// Student commands make a process the parent of orphans: what earlier tests killed may wait to be reaped.
void reap_orphans() {
    while (::waitpid(-1, nullptr, WNOHANG) > 0) {
    }
}

} // namespace

TEST_CASE("a failed start names the step and leaves no child") {
    reap_orphans();
    auto missing = shell("");
    missing.executable = "/does/not/exist";
    const auto not_there = process::spawn(missing);
    REQUIRE(not_there.has_error());
    CHECK(not_there.error().kind == chalk::error_class::sandbox);
    CHECK(not_there.error().message == "cannot start /does/not/exist: exec: No such file or directory");

    missing.executable = "no-such-program";
    CHECK(process::spawn(missing).error().message.find("no such program in PATH (/usr/bin:/bin)") != std::string::npos);

    missing.executable = "bin/relative";
    CHECK(process::spawn(missing).error().message.find("absolute path") != std::string::npos);

    auto lost = shell("exit 0");
    lost.working_directory = "/nowhere";
    CHECK(process::spawn(lost).error().message == "cannot start /bin/sh: enter /nowhere: No such file or directory");

    auto bad_descriptor = shell("exit 0");
    bad_descriptor.descriptors = {{9999, 5}};
    CHECK(process::spawn(bad_descriptor).error().message.find("hand down its descriptors") != std::string::npos);

    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
    CHECK(errno == ECHILD);
}

TEST_CASE("a bare name is looked up in the child's PATH, not in ours") {
    auto what = shell("");
    what.executable = "env";
    what.arguments = {};
    what.environment = {"A=1", "PATH=/nowhere::/usr/bin"};
    CHECK(run(what).output == "A=1\nPATH=/nowhere::/usr/bin\n");
}

TEST_CASE("signals are unblocked and reset in the child") {
    struct sigaction before {};
    struct sigaction ignore {};
    ignore.sa_handler = SIG_IGN;
    REQUIRE(::sigaction(SIGPIPE, &ignore, &before) == 0);
    sigset_t mask;
    sigset_t old;
    sigemptyset(&mask);
    sigaddset(&mask, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &mask, &old);

    auto what = shell("");
    what.executable = "/bin/cat"; // catches nothing itself
    what.arguments = {"/proc/self/status"};
    const auto seen = run(what).output;

    sigset_t after;
    pthread_sigmask(SIG_SETMASK, &old, &after);
    ::sigaction(SIGPIPE, &before, nullptr);
    CHECK(seen.find("SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\nSigCgt:\t0000000000000000\n") !=
          std::string::npos);
    CHECK(sigismember(&after, SIGUSR1) == 1); // ours is as it was
    CHECK(sigismember(&after, SIGTERM) == 0);
}

TEST_CASE("a child leads its own session unless told otherwise") {
    CHECK(run(shell("read pid rest < /proc/self/stat; ps -o sid= -p $$ | grep -qw $$")).status.code == 0);
    auto same = shell("ps -o sid= -p $$ | grep -qw $$");
    same.new_session = false;
    CHECK(run(same).status.code == 1);
}

TEST_CASE("resource limits are the child's alone") {
    struct rlimit before {};
    ::getrlimit(RLIMIT_NOFILE, &before);
    auto what = shell("ulimit -n");
    what.limits = {{RLIMIT_NOFILE, 77}};
    CHECK(run(what).output == "77\n");
    struct rlimit after {};
    ::getrlimit(RLIMIT_NOFILE, &after);
    CHECK(after.rlim_cur == before.rlim_cur);
}

TEST_CASE("a child that becomes the student keeps no group, capability or way back") {
    if (!is_root()) {
        CHALK_SKIP("needs root to change identity: run the tests as root");
    }
    auto what = shell("id -u; id -g; id -G; grep -E 'Cap|NoNewPrivs' /proc/self/status");
    what.become = process::identity{1000, 1000};
    CHECK(run(what).output == "1000\n1000\n1000\n"
                              "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
                              "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\n");
    CHECK(::geteuid() == 0); // the change did not reach this process
    std::thread([] { CHECK(::geteuid() == 0); }).join();
}

TEST_CASE("becoming who one is already needs no privilege") {
    auto what = shell("exit 3");
    what.become = process::identity{::getuid(), ::getgid()};
    CHECK(run(what).status.code == 3);
}

TEST_CASE("a child joins its cgroup before it runs") {
    const std::filesystem::path group = fmt::format("/sys/fs/cgroup/pids/chalk_spawn_test_{}", ::getpid());
    std::error_code failed;
    if (!std::filesystem::create_directory(group, failed)) {
        CHALK_SKIP("no writable cgroup v1 pids controller: " + failed.message());
    }
    const chalk::unique_fd procs(::open((group / "cgroup.procs").c_str(), O_WRONLY | O_CLOEXEC));
    REQUIRE(procs);
    auto what = shell("grep pids: /proc/self/cgroup");
    what.cgroup_procs = {procs.get()};
    const auto seen = run(what).output;
    CHECK(seen.find(group.filename().string()) != std::string::npos);
    CHECK(::rmdir(group.c_str()) == 0);

    const chalk::unique_fd not_a_group(::open("/dev/full", O_WRONLY | O_CLOEXEC));
    what.cgroup_procs = {not_a_group.get()};
    CHECK(process::spawn(what).error().message.find("join its cgroup: No space left") != std::string::npos);
}

TEST_CASE("a child dies with the thread that started it") {
    std::optional<process::child> started;
    auto pipe = process::make_pipe().value();
    std::thread([&] {
        auto what = shell("echo up; exec sleep 1000");
        what.descriptors = {{pipe.write.get(), 1}};
        auto c = process::spawn(what);
        pipe.write.reset();
        if (c) {
            started = std::move(*c);
        }
        char up[3];
        CHECK(::read(pipe.read.get(), up, 3) == 3); // alive while its thread is
    }).join();
    REQUIRE(started);
    CHECK(wait_for(*started).signal == SIGKILL);
}

TEST_CASE("a program runs from a descriptor that the child cannot open itself") {
    const chalk::unique_fd memory(::memfd_create("program", MFD_CLOEXEC));
    std::ifstream program("/bin/true", std::ios::binary);
    const std::string content((std::istreambuf_iterator<char>(program)), {});
    REQUIRE(::write(memory.get(), content.data(), content.size()) == static_cast<ssize_t>(content.size()));
    REQUIRE(::fchmod(memory.get(), 0555) == 0);

    auto what = shell("");
    what.executable = "file_tool";
    what.arguments = {};
    what.executable_fd = memory.get();
    if (is_root()) {
        what.become = process::identity{1000, 1000};
    }
    CHECK(run(what).status.success());
    CHECK(::fcntl(memory.get(), F_GETFD) == FD_CLOEXEC); // still ours
}

TEST_CASE("async_wait is not misled by an event of a descriptor that its own has taken the place of") {
    reap_orphans();
    boost::asio::io_context io;
    using descriptor = boost::asio::posix::stream_descriptor;
    auto first = process::make_pipe();
    auto second = process::make_pipe();
    REQUIRE(first);
    REQUIRE(second);
    descriptor one(io, first->read.release());
    descriptor other(io, second->read.release());
    std::optional<process::exit_status> seen;
    // Both become readable at once; whichever is told first closes the other and starts a child in its place.
    const auto on_readable = [&](descriptor& closes) {
        return [&](const boost::system::error_code& failed) {
            if (failed) {
                return; // closed
            }
            closes.close();
            auto c = process::spawn(shell("sleep 0.3; exit 7"));
            REQUIRE(c.has_value());
            process::async_wait(io, std::move(*c), [&](process::exit_status status) { seen = status; });
        };
    };
    one.async_wait(descriptor::wait_read, on_readable(other));
    other.async_wait(descriptor::wait_read, on_readable(one));
    REQUIRE(::write(first->write.get(), "x", 1) == 1);
    REQUIRE(::write(second->write.get(), "x", 1) == 1);
    io.run();
    REQUIRE(seen);
    CHECK(seen->code == 7);
}

TEST_CASE("async_wait reaps many children at once and reports each once") {
    reap_orphans();
    chalk::io_thread io;
    constexpr int count = 50;
    std::promise<void> all_done;
    std::vector<int> seen(count, -2);
    int left = count;
    boost::asio::post(io.context(), [&] {
        for (int i = 0; i < count; ++i) {
            auto c = process::spawn(shell(fmt::format("exit {}", i)));
            REQUIRE(c.has_value());
            process::async_wait(io.context(), std::move(*c), [&, i](process::exit_status status) {
                seen[static_cast<std::size_t>(i)] = seen[static_cast<std::size_t>(i)] == -2 ? status.code : -3;
                if (--left == 0) {
                    all_done.set_value();
                }
            });
        }
    });
    REQUIRE(all_done.get_future().wait_for(std::chrono::seconds(30)) == std::future_status::ready);
    for (int i = 0; i < count; ++i) {
        CHECK(seen[static_cast<std::size_t>(i)] == i);
    }
    CHECK(::waitpid(-1, nullptr, WNOHANG) == -1);
}
