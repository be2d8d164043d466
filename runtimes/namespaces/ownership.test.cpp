/// What is left when a chalk is killed: nothing, or what the next one removes.
#include "runtimes/namespaces/cgroups.hpp"
#include "runtimes/namespaces/fixture.test.hpp"
#include "runtimes/namespaces/owner.hpp"
#include "runtimes/process/spawn.hpp"

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <sstream>
#include <thread>

#include <poll.h>
#include <sys/wait.h>

using namespace chalk;
using chalk::test::namespaces_fixture;
namespace fs = std::filesystem;

namespace {

/// True as soon as `condition` is; polls, since the kernel tells nobody when it is done.
bool soon(const std::function<bool()>& condition) {
    const auto until = std::chrono::steady_clock::now() + seconds(10);
    while (!condition()) {
        if (std::chrono::steady_clock::now() > until) {
            return false;
        }
        std::this_thread::sleep_for(milliseconds(5));
    }
    return true;
}

bool runs(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(in, text);
    const std::size_t at = text.rfind(')');
    return at != std::string::npos && text.at(at + 2) != 'Z';
}

/// Another process with a runtime and one sandbox: this executable with the hidden test below.
struct other_chalk {
    process::child process;
    pid_t init = -1;
    pid_t nest = -1;
    std::string owner;
};

pid_t parent_of(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/status", pid));
    for (std::string line; std::getline(in, line);) {
        if (line.starts_with("PPid:")) {
            return std::stoi(line.substr(5));
        }
    }
    return -1;
}

other_chalk start_other(const namespaces_fixture& here) {
    auto pipe = process::make_pipe();
    REQUIRE(pipe);
    process::command command;
    command.executable = fs::read_symlink("/proc/self/exe").string();
    command.arguments = {"a chalk that is about to be killed"};
    command.environment = {"CHALK_TEST_FOLDER=" + here.folder.string()};
    command.descriptors = {{pipe->write.get(), 1}, {2, 2}, {pipe->write.get(), 9}};
    auto child = process::spawn(command);
    REQUIRE(child);
    pipe->write.reset();
    other_chalk other;
    std::string said;
    char byte = 0;
    while (::read(pipe->read.get(), &byte, 1) == 1 && byte != '\n') {
        said += byte;
    }
    INFO(said);
    std::istringstream(said) >> other.init >> other.owner;
    REQUIRE(other.init > 1);
    other.nest = parent_of(other.init);
    other.process = std::move(*child);
    return other;
}

void reap(const other_chalk& other) {
    siginfo_t info{};
    ::waitid(static_cast<idtype_t>(P_PIDFD), static_cast<id_t>(other.process.pidfd.get()), &info, WEXITED);
}

std::vector<fs::path> groups_of(const std::string& owner) {
    std::vector<fs::path> found;
    for (const fs::path& folder : namespaces::cgroups(owner).all_owners_folders()) {
        if (fs::exists(folder / owner)) {
            found.push_back(folder / owner);
        }
    }
    return found;
}

} // namespace

TEST_CASE("a chalk that is about to be killed", "[.]") {
    const char* folder = std::getenv("CHALK_TEST_FOLDER");
    REQUIRE(folder != nullptr);
    io_thread io;
    namespaces_options options;
    options.cache_folder = fs::path(folder) / "cache";
    options.state_folder = fs::path(folder) / "state";
    options.harness = {"/bin/sh", "-c", "sleep 1000 & setsid sleep 1000 & wait"};
    const auto made = make_namespaces_runtime(io.context(), options);
    sandbox_request request;
    request.id = run_id::parse("killed").value();
    request.environment.folder = fs::path(folder) / "environment";
    request.environment.digest = "sha256-of-the-test";
    const auto started = made->start(request);
    REQUIRE(started);
    const std::string owner = fs::directory_iterator(options.state_folder)->path().filename().string();
    const std::string line = fmt::format("{} {}\n", (*started)->init_pid(), owner);
    REQUIRE(::write(9, line.data(), line.size()) == static_cast<ssize_t>(line.size()));
    for (;;) {
        ::pause();
    }
}

TEST_CASE("SIGKILL of chalk takes its sandboxes, cgroups and folders with it") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const other_chalk other = start_other(here);
    REQUIRE(runs(other.init));
    REQUIRE(groups_of(other.owner).empty() != chalk::test::has_cgroups());
    ::kill(other.process.pid, SIGKILL);
    reap(other);
    CHECK(soon([&] { return !runs(other.init) && !runs(other.nest); }));
    CHECK(soon([&] { return groups_of(other.owner).empty(); }));
    CHECK_FALSE(fs::exists(here.folder / "state" / other.owner));
}

TEST_CASE("SIGKILL of chalk and its helper still ends the sandboxes, and the next chalk removes what is left") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    CHALK_NEEDS_CGROUPS();
    const other_chalk other = start_other(here);
    ::kill(other.nest, SIGSTOP); // so that it cannot clean up in between
    ::kill(other.process.pid, SIGKILL);
    reap(other);
    ::kill(other.nest, SIGKILL);
    CHECK(soon([&] { return !runs(other.init); }));
    REQUIRE_FALSE(groups_of(other.owner).empty());

    const auto next = make_namespaces_runtime(here.io.context(), here.options("true"));
    const auto listed = next->remove_leftovers(true);
    REQUIRE(listed);
    CHECK(std::any_of(listed->begin(), listed->end(), [&](const leftover& one) { return one.owner == other.owner; }));
    CHECK_FALSE(groups_of(other.owner).empty());
    REQUIRE(next->remove_leftovers(false));
    CHECK(groups_of(other.owner).empty());
    CHECK_FALSE(fs::exists(here.folder / "state" / other.owner));
}

TEST_CASE("removing leftovers leaves a living chalk alone") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const other_chalk other = start_other(here);
    const auto next = make_namespaces_runtime(here.io.context(), here.options("true"));
    const auto removed = next->remove_leftovers(false);
    REQUIRE(removed);
    CHECK(
        std::none_of(removed->begin(), removed->end(), [&](const leftover& one) { return one.owner == other.owner; }));
    CHECK(runs(other.init));
    CHECK(groups_of(other.owner).empty() != chalk::test::has_cgroups());
    ::kill(other.process.pid, SIGKILL);
    reap(other);
    CHECK(soon([&] { return groups_of(other.owner).empty(); }));
}

TEST_CASE("an owner's name is alive as long as its process, and names of others are never taken for dead") {
    const std::string own = namespaces::make_owner_name();
    CHECK(namespaces::is_alive(own));
    CHECK_FALSE(namespaces::is_alive(fmt::format("{}-1", ::getpid())));
    CHECK(namespaces::is_alive("docker"));
    CHECK(namespaces::is_alive("12-x"));
    CHECK(namespaces::is_alive("x-12"));
    CHECK_FALSE(namespaces::is_alive("4194305-77"));
}

TEST_CASE("a killed sandbox ends at once and with SIGKILL, and its removal leaves nothing") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_namespaces_runtime(here.io.context(), here.options("sleep 1000 & setsid sleep 1000 & wait"));
    auto started = here.made->start(here.request());
    REQUIRE(started);
    const std::unique_ptr<sandbox> one = std::move(*started);
    const unique_fd channel = one->take_host_channel();
    const pid_t init = one->init_pid();
    CHECK(runs(init));
    one->kill();
    const sandbox_exit end = here.wait(*one);
    CHECK(end.signal == SIGKILL);
    CHECK_FALSE(runs(init));
    char byte = 0;
    CHECK(::read(channel.get(), &byte, 1) == 0);
    const auto removed = one->remove();
    REQUIRE(removed);
    CHECK_FALSE(removed->has_value());
}

TEST_CASE("a sandbox that is dropped without a word is killed and removed") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_namespaces_runtime(here.io.context(), here.options("sleep 1000"));
    pid_t init = -1;
    {
        auto started = here.made->start(here.request());
        REQUIRE(started);
        init = (*started)->init_pid();
        CHECK(runs(init));
    }
    CHECK_FALSE(runs(init));
    auto again = here.made->start(here.request()); // the same run id: its cgroups must be gone
    CHECK(again);
}
