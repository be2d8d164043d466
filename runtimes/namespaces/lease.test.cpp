/// Sandboxes end by the lease that their runtime was given, also while nobody is there to end them.
#include "runtimes/namespaces/lease_page.hpp"
#include "runtimes/namespaces/nest/lease_view.hpp"
#include "runtimes/namespaces/nest/lease_watch.hpp"
#include "runtimes/namespaces/nest/nest.hpp"
#include "runtimes/namespaces/other_chalk.test.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/syscall.h>

using namespace chalk;
using namespace chalk::test;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

node_time node_now() {
    timespec now{};
    ::clock_gettime(CLOCK_BOOTTIME, &now);
    return node_time(std::chrono::seconds(now.tv_sec) + std::chrono::nanoseconds(now.tv_nsec));
}

/// Readable when the process, and with a sandbox's first one everything else in the sandbox, is gone.
unique_fd watch_process(pid_t pid) {
    return unique_fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
}

bool ends_within(const unique_fd& process, milliseconds time) {
    pollfd wait{process.get(), POLLIN, 0};
    return ::poll(&wait, 1, static_cast<int>(time.count())) == 1;
}

bool is_stopped(pid_t pid) {
    std::ifstream in(fmt::format("/proc/{}/stat", pid));
    std::string text;
    std::getline(in, text);
    const std::size_t at = text.rfind(')');
    return at != std::string::npos && text.at(at + 2) == 'T';
}

/// Another chalk whose sandbox runs and that does nothing any more. Killed at the end, and nothing of it is left.
struct stopped_chalk {
    stopped_chalk(namespaces_fixture& from, const std::string& hidden_test)
        : here(from), it(start_other(from, hidden_test)), init(watch_process(it.init)) {
        ::kill(it.process.pid, SIGSTOP);
        CHECK(soon([&] { return is_stopped(it.process.pid); }));
        REQUIRE(init);
    }
    stopped_chalk(const stopped_chalk&) = delete;
    stopped_chalk& operator=(const stopped_chalk&) = delete;
    ~stopped_chalk() {
        ::kill(it.process.pid, SIGKILL);
        reap(it);
        ::kill(it.nest, SIGCONT);
        CHECK(soon([&] { return !runs(it.nest) && !fs::exists(here.folder / "state" / it.owner); }));
    }

    namespaces_fixture& here;
    other_chalk it;
    unique_fd init;
};

/// Far above what it takes; reached only when the lease does not work.
constexpr milliseconds long_enough = 15s;

/// A runtime whose harness runs until it is killed.
std::unique_ptr<runtime> make_lasting(namespaces_fixture& here) {
    return make_namespaces_runtime(here.io.context(), here.options("sleep 1000 & setsid sleep 1000 & wait"));
}

std::unique_ptr<sandbox> start_in(namespaces_fixture& here, const std::string& id = "run-1") {
    auto started = here.made->start(here.request(id));
    REQUIRE(started);
    return std::move(*started);
}

/// It ends by itself, not before `until`, and says why.
void ends_by_lease(namespaces_fixture& here, sandbox& one, node_time until) {
    const unique_fd init = watch_process(one.init_pid());
    if (init) { // else it is over already
        REQUIRE(ends_within(init, long_enough));
    }
    CHECK(node_now() >= until);
    const sandbox_exit end = here.wait(one);
    CHECK(end.signal == SIGKILL);
    CHECK(end.last_words.find("lease") != std::string::npos);
    CHECK(one.remove());
}

/// What a copied harness tries with the page that is in its memory, for channel 3.
int try_the_page(int, char**) {
    std::ifstream maps("/proc/self/maps");
    std::string said = "no page";
    for (std::string line; std::getline(maps, line);) {
        if (line.find("chalk-lease") != std::string::npos) {
            void* page = nullptr;
            std::sscanf(line.c_str(), "%p", &page);
            said = ::mprotect(page, 4096, PROT_READ | PROT_WRITE) != 0 && errno == EACCES ? "kept out" : "WRITES";
        }
    }
    for (const auto& fd : fs::directory_iterator("/proc/self/fd")) {
        std::error_code ignored;
        if (fs::read_symlink(fd.path(), ignored).string().find("chalk-lease") != std::string::npos) {
            said += ", HOLDS IT";
        }
    }
    std::error_code unlisted;
    for (const auto& fd : fs::directory_iterator("/proc/1/fd", unlisted)) { // root may list them, and nothing more
        std::error_code refused;
        (void)fs::read_symlink(fd.path(), refused);
        said += refused ? "" : ", SEES THE FIRST PROCESS";
    }
    (void)!::write(3, said.data(), said.size());
    ::close(3);
    for (;;) {
        ::pause();
    }
}

/// This executable as chalk has it in the role of the helper: before Catch2 takes the command line for names of tests.
const bool is_no_helper = [] {
    std::ifstream in("/proc/self/cmdline");
    std::string program;
    std::string role;
    std::getline(in, program, '\0');
    std::getline(in, role, '\0');
    if (role == "nest") {
        ::_exit(nest::run_nest(3, try_the_page));
    }
    return true;
}();

} // namespace

TEST_CASE("a chalk that is about to be stopped with its helper", "[.]") {
    const auto lone = start_lone_sandbox();
    lone->one.reset();
    lone->made->set_lease(node_now() + 3s); // the environment is staged: a start takes a hundredth of that
    auto leased = lone->made->start(lone->request);
    REQUIRE(leased);
    say_and_wait(**leased);
}

TEST_CASE("a chalk that is about to be stopped", "[.]") {
    const auto lone = start_lone_sandbox();
    lone->made->set_lease(node_now() + 1s); // nobody had one so far
    say_and_wait(*lone->one);
}

TEST_CASE("the sandboxes of a stopped chalk end with its lease") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const node_time before = node_now();
    stopped_chalk other(here, "a chalk that is about to be stopped");
    CHECK(ends_within(other.init, long_enough));
    CHECK(node_now() >= before + 1s);
    CHECK(is_stopped(other.it.process.pid));
}

TEST_CASE("the sandboxes of a chalk that is stopped with its helper end with the lease that they were started with") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const node_time before = node_now();
    stopped_chalk other(here, "a chalk that is about to be stopped with its helper");
    ::kill(other.it.nest, SIGSTOP);
    CHECK(ends_within(other.init, long_enough));
    CHECK(node_now() >= before + 3s);
    CHECK(is_stopped(other.it.process.pid));
    CHECK(is_stopped(other.it.nest));
}

TEST_CASE("a lease that is moved on keeps a sandbox past the first end, and ends it at the last") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_lasting(here);
    REQUIRE(here.made->prepare(here.request()));
    const node_time first = node_now() + 2s;
    here.made->set_lease(first);
    const auto one = start_in(here);
    here.made->set_lease(first + 300ms);
    ends_by_lease(here, *one, first + 300ms);
}

TEST_CASE("a lease that is shortened ends sandboxes at the earlier moment") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_lasting(here);
    here.made->set_lease(node_now() + 1h);
    const auto one = start_in(here);
    const auto other = start_in(here, "run-2");
    const node_time earlier = node_now() + 100ms;
    here.made->set_lease(earlier);
    ends_by_lease(here, *one, earlier);
    ends_by_lease(here, *other, earlier);
}

TEST_CASE("a lease that is over ends what runs and starts nothing, and a new one starts again") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_lasting(here);
    const auto one = start_in(here);
    const node_time past = node_now() - 1s;
    here.made->set_lease(past);
    ends_by_lease(here, *one, past);
    const auto refused = here.made->start(here.request("run-2"));
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == error_class::sandbox);
    CHECK(refused.error().message.find("lease") != std::string::npos);
    here.made->set_lease(node_now() + 1h);
    const auto again = start_in(here, "run-3");
    CHECK(runs(again->init_pid()));
}

TEST_CASE("a lease that is taken away ends nothing, and the next one is heard of") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_lasting(here);
    REQUIRE(here.made->prepare(here.request()));
    here.made->set_lease(node_now() + 2s);
    const auto one = start_in(here);
    here.made->set_lease(std::nullopt);
    // Past the first end, where its timer rings: it must have looked, and gone on.
    CHECK_FALSE(ends_within(watch_process(one->init_pid()), 2500ms));
    const node_time last = node_now() + 100ms;
    here.made->set_lease(last);
    ends_by_lease(here, *one, last);
}

TEST_CASE("a harness that is a copy neither holds nor writes its lease, and ends with it") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    namespaces_options options = here.options("");
    REQUIRE(is_no_helper);
    options.copied_program = fs::read_symlink("/proc/self/exe");
    here.made = make_namespaces_runtime(here.io.context(), options);
    const auto one = start_in(here);
    const unique_fd channel = one->take_host_channel();
    std::string said;
    char byte = 0;
    while (::read(channel.get(), &byte, 1) == 1) {
        said += byte;
    }
    CHECK(said == "kept out");
    const node_time until = node_now() + 100ms;
    here.made->set_lease(until);
    ends_by_lease(here, *one, until);
}

TEST_CASE("a harness that is executed has nothing of the lease, and sees nothing of the first process") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const auto result = here.run("{ grep -c chalk-lease /proc/self/maps; ls -l /proc/self/fd | grep -c chalk-lease; "
                                 "readlink /proc/1/fd/*; ls /proc/1/map_files; cat /proc/1/maps; } >&3 2>/dev/null");
    CHECK(result.said == "0\n0\n");
}

TEST_CASE("nobody but its owner can write the page of a lease, whatever they hold") {
    const auto made = namespaces::lease_page::make();
    REQUIRE(made);
    const int page = (*made)->page();
    const auto view = nest::lease_view::map(page);
    REQUIRE(view);
    CHECK(view->until() == 0);
    CHECK_FALSE(view->is_over());
    (*made)->set(node_now() + 1h);
    CHECK(view->until() > 0);
    CHECK_FALSE(view->is_over());

    const std::int64_t forged = 1;
    CHECK((::pwrite(page, &forged, sizeof forged, 0) < 0 && errno == EPERM));
    CHECK(::mmap(nullptr, sizeof forged, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0) == MAP_FAILED);
    CHECK(::ftruncate(page, 0) != 0);
    CHECK(::fcntl(page, F_ADD_SEALS, F_SEAL_WRITE) != 0);
    const unique_fd anew(::open(fmt::format("/proc/self/fd/{}", page).c_str(), O_RDWR | O_CLOEXEC));
    REQUIRE(anew);
    CHECK(::pwrite(anew.get(), &forged, sizeof forged, 0) < 0);
    CHECK(::mmap(nullptr, sizeof forged, PROT_WRITE, MAP_SHARED, anew.get(), 0) == MAP_FAILED);
    CHECK_FALSE(view->is_over());

    (*made)->set(node_time(-5s)); // before the machine's start is past, and not "none"
    CHECK(view->is_over());
    (*made)->set(std::nullopt);
    CHECK(view->until() == 0);
}

TEST_CASE("a lease's bell rings for a first and an earlier end only") {
    const auto made = namespaces::lease_page::make();
    REQUIRE(made);
    const auto rings = [&] {
        std::uint64_t count = 0;
        return ::read((*made)->bell(), &count, sizeof count) == sizeof count;
    };
    (*made)->set(node_time(1h));
    CHECK(rings());
    (*made)->set(node_time(2h));
    CHECK_FALSE(rings());
    (*made)->set(node_time(1h));
    CHECK(rings());
    (*made)->set(std::nullopt);
    CHECK_FALSE(rings());
    (*made)->set(node_time(3h));
    CHECK(rings());
}

TEST_CASE("a lease's watch sets its timer when the end has moved, and is over when its own end has come") {
    const auto made = namespaces::lease_page::make();
    REQUIRE(made);
    const auto view = nest::lease_view::map((*made)->page());
    REQUIRE(view);
    nest::lease_watch watch(*view);
    const auto rang = [&](milliseconds within) {
        pollfd wait{watch.descriptor(), POLLIN, 0};
        return ::poll(&wait, 1, static_cast<int>(within.count())) == 1;
    };
    using nest::lease_state;
    CHECK(watch.look(false) == lease_state::runs);
    CHECK(watch.descriptor() == -1);

    const node_time past = node_now() - 1h;
    (*made)->set(past);
    CHECK(watch.look(false) == lease_state::runs); // the timer says when
    REQUIRE(rang(long_enough));
    (*made)->set(node_now() + 1h); // just in time
    CHECK(watch.look(true) == lease_state::runs);
    CHECK_FALSE(rang(0ms));
    (*made)->set(std::nullopt);
    CHECK(watch.look(false) == lease_state::runs);
    CHECK(watch.descriptor() == -1);
    (*made)->set(past);
    CHECK(watch.look(false) == lease_state::runs);
    REQUIRE(rang(long_enough));
    CHECK(watch.look(true) == lease_state::over);
}
