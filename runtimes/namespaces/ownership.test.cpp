/// What is left when a chalk is killed: nothing, or what the next one removes.
#include "runtimes/namespaces/cgroups.hpp"
#include "runtimes/namespaces/fixture.test.hpp"
#include "runtimes/namespaces/other_chalk.test.hpp"
#include "runtimes/namespaces/owner.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <csignal>

using namespace chalk;
using namespace chalk::test;
namespace fs = std::filesystem;

namespace {

constexpr const char* about_to_be_killed = "a chalk that is about to be killed";

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
    const auto lone = chalk::test::start_lone_sandbox();
    chalk::test::say_and_wait(*lone->one);
}

TEST_CASE("SIGKILL of chalk takes its sandboxes, cgroups and folders with it") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const other_chalk other = start_other(here, about_to_be_killed);
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
    const other_chalk other = start_other(here, about_to_be_killed);
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
    const other_chalk other = start_other(here, about_to_be_killed);
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
