#include "actors/cluster/credit_window.hpp"
#include "actors/cluster/links.test.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <cstdlib>
#include <stdexcept>

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace chalk::test {

namespace {

constexpr const char* far_test_name = "the far side of a link that other tests start";
constexpr const char* far_socket_variable = "CHALK_TEST_LINK_SOCKET";

const actors::link_library* load_library() {
    const auto loaded = actors::load_link_library();
    if (!loaded) {
        throw std::runtime_error(loaded.error().message);
    }
    return *loaded;
}

actors::link_owner spawn_log_owner(caf::actor_system& system, std::shared_ptr<link_log> log) {
    return system.spawn([log = std::move(log)](actors::link_owner::pointer) -> actors::link_owner::behavior_type {
        return {[=](const actors::peer_linked& x) { log->add(x); }, [=](const actors::link_failed& x) { log->add(x); },
                [=](const actors::link_lost& x) { log->add(x); }};
    });
}

far_root spawn_far_root(caf::actor_system& system) {
    return system.spawn([](far_root::pointer) -> far_root::behavior_type {
        auto credits = std::make_shared<actors::credit_return>(16);
        return {
            [](const std::string& what) { return what; },
            [=](caf::put_atom, const std::string&) { return credits->arrived() ? credits->done() : std::uint64_t{0}; }};
    });
}

} // namespace

void link_log::add(link_event what) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(what));
    came_.notify_all();
}

link_process::link_process(actors::link_settings of_links)
    : library(*load_library()), settings({}, library), system(settings), owner(spawn_log_owner(system, log)),
      root(spawn_far_root(system)), its_links(system, library, owner, of_links) {
    its_links.publish(root);
}

link_process::~link_process() {
    caf::anon_send_exit(owner, caf::exit_reason::user_shutdown);
    caf::anon_send_exit(root, caf::exit_reason::user_shutdown);
}

std::optional<far_root> link_process::dial(unique_fd socket) {
    const auto number = its_links.connect<far_root>("far", std::move(socket));
    const auto linked = log->take<actors::peer_linked>();
    if (!linked || linked->number != number) {
        return std::nullopt;
    }
    return caf::actor_cast<far_root>(linked->root);
}

std::string link_process::ask(const far_root& whom, std::string what, std::chrono::milliseconds deadline) {
    caf::scoped_actor self(system);
    std::string answer;
    self->request(whom, deadline, std::move(what))
        .receive([&](const std::string& text) { answer = text; },
                 [&](const caf::error& why) { answer = "error: " + system.render(why); });
    return answer;
}

std::pair<unique_fd, unique_fd> link_sockets() {
    int ends[2] = {-1, -1};
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        std::abort();
    }
    return {unique_fd(ends[0]), unique_fd(ends[1])};
}

far_process::far_process(unique_fd socket) {
    const std::string number = std::to_string(socket.get());
    std::vector<std::string> variables{std::string(far_socket_variable) + "=" + number};
    for (char** one = environ; *one != nullptr; ++one) {
        variables.emplace_back(*one);
    }
    std::vector<char*> envp;
    for (auto& one : variables) {
        envp.push_back(one.data());
    }
    envp.push_back(nullptr);
    const unique_fd nowhere(::open("/dev/null", O_RDWR | O_CLOEXEC)); // its report is nobody's
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() == parent && ::fcntl(socket.get(), F_SETFD, 0) == 0 &&
            ::dup2(nowhere.get(), STDOUT_FILENO) >= 0) {
            const char* const arguments[] = {"far", far_test_name, nullptr};
            ::execve("/proc/self/exe", const_cast<char* const*>(arguments), envp.data());
        }
        ::_exit(127);
    }
}

far_process::~far_process() {
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

void far_process::signal(int number) const {
    ::kill(pid_, number);
}

} // namespace chalk::test

TEST_CASE("the far side of a link that other tests start", "[.]") {
    const char* socket = std::getenv(chalk::test::far_socket_variable);
    if (socket == nullptr) {
        CHALK_SKIP("other tests start it, with a socket");
    }
    chalk::test::link_process side;
    side.its_links.adopt("near", chalk::unique_fd(std::atoi(socket)));
    // Until the link ends, or whoever started this kills it.
    (void)side.log->take<chalk::actors::link_lost>(std::chrono::minutes(4));
}
