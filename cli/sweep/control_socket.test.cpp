#include "cli/sweep/control_socket.hpp"

#include "protocol/core/unique_fd.hpp"
#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <future>
#include <mutex>

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace chalk;
namespace control = actors::control;

namespace {

using answer_function = std::function<void(result<std::string>)>;

/// A connection as any program could make it; reads have a deadline.
class peer {
  public:
    explicit peer(const std::filesystem::path& folder) : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        // A read with a deadline is interrupted by a signal; children are the io thread's business.
        sigset_t children;
        ::sigemptyset(&children);
        ::sigaddset(&children, SIGCHLD);
        ::pthread_sigmask(SIG_BLOCK, &children, nullptr);
        const timeval limit{20, 0};
        ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
        sockaddr_un address{};
        address.sun_family = AF_UNIX;
        (folder / "control.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
        REQUIRE(::connect(fd_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    }
    void say(std::string_view text) const {
        REQUIRE(::send(fd_.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }
    /// Until the other side hangs up.
    [[nodiscard]] std::string hear() const {
        std::string text;
        char part[4096];
        for (;;) {
            const auto got = ::read(fd_.get(), part, sizeof part);
            REQUIRE((got >= 0 || errno == ECONNRESET)); // else the deadline passed
            if (got <= 0) {
                return text;
            }
            text.append(part, static_cast<std::size_t>(got));
        }
    }

  private:
    unique_fd fd_;
};

/// A sweep's side: keeps each question, and answers it at once or not at all.
class listener {
  public:
    explicit listener(cli::control_deadlines deadlines = {}, bool answers = true) {
        socket = cli::control_socket::open(
                     io.context(), folder.path(),
                     [this, answers](const actors::sweep_control&, answer_function answer) {
                         {
                             const std::lock_guard lock(mutex_);
                             kept_.push_back(answer);
                         }
                         if (answers) {
                             answer(std::string("asked"));
                         }
                     },
                     deadlines)
                     .value();
    }
    [[nodiscard]] std::vector<answer_function> kept() {
        const std::lock_guard lock(mutex_);
        return kept_;
    }

  private:
    std::mutex mutex_;
    std::vector<answer_function> kept_;

  public:
    test::temporary_folder folder;
    io_thread io;
    std::unique_ptr<cli::control_socket> socket;
};

} // namespace

TEST_CASE("each request of a sweep's control socket is read as it was written") {
    for (const actors::sweep_control& what : std::vector<actors::sweep_control>{
             control::pause{}, control::resume{}, control::cancel{"enough"}, control::concurrency{8},
             control::concurrency{}, control::requeue{{"a.0", "b.1"}}, control::drain{"local"}, control::look{},
             control::nodes{}}) {
        const auto line = cli::to_line(what);
        CAPTURE(line);
        const auto read = cli::parse_control(line);
        REQUIRE(read.has_value());
        CHECK(read->index() == what.index());
        CHECK(cli::to_line(*read) == line);
    }
}

TEST_CASE("a line that is no request is refused, however deep it is nested") {
    const std::string deep = std::string(1'000'000, '[') + std::string(1'000'000, ']');
    for (const auto& line :
         {std::string(), std::string("pause"), std::string("[]"), std::string(R"({"command":1})"),
          std::string(R"({"command":"dance"})"), std::string(R"({"command":"concurrency","runs":"x"})"), deep,
          R"({"command":"pause","more":)" + deep + "}"}) {
        CAPTURE(line.substr(0, 100));
        const auto refused = cli::parse_control(line);
        REQUIRE(refused.has_error());
        CHECK(refused.error().kind == error_class::config);
    }
}

TEST_CASE("a client that says nothing is hung up on, and others are heard meanwhile") {
    listener sweep({milliseconds(1'000), milliseconds(20'000)});
    const peer silent(sweep.folder.path());
    const peer slow(sweep.folder.path());
    slow.say(R"({"command":)");
    CHECK(cli::ask_sweep(sweep.folder.path(), control::pause{}, std::chrono::seconds(20)).value() == "asked");
    CHECK(silent.hear().empty());
    CHECK(slow.hear().empty());
    CHECK(sweep.kept().size() == 1);
}

TEST_CASE("a sweep that does not answer holds no connection, and may answer too late") {
    listener sweep({milliseconds(20'000), milliseconds(100)}, false);
    const peer asks(sweep.folder.path());
    asks.say("{\"command\":\"status\"}\n");
    const auto said = asks.hear();
    CHECK(said.find(R"("ok":false)") != std::string::npos);
    CHECK(said.find("did not answer") != std::string::npos);
    REQUIRE(sweep.kept().size() == 1);
    sweep.kept()[0](std::string("late"));
    const auto again = cli::ask_sweep(sweep.folder.path(), control::look{}, std::chrono::seconds(20));
    CHECK(again.error().message.find("did not answer") != std::string::npos);
}

TEST_CASE("when the socket goes, who is connected is hung up on and the handler is not called any more") {
    listener sweep;
    const peer early(sweep.folder.path());
    CHECK(cli::ask_sweep(sweep.folder.path(), control::pause{}, std::chrono::seconds(20)).value() == "asked");
    sweep.socket.reset();
    CHECK(early.hear().empty());
    CHECK(sweep.kept().size() == 1);
    CHECK_FALSE(std::filesystem::exists(sweep.folder.path() / "control.sock"));
}

TEST_CASE("what answers no sense on a control socket is an error") {
    const test::temporary_folder folder;
    const unique_fd listening(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder.path() / "control.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
    REQUIRE(::bind(listening.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    REQUIRE(::listen(listening.get(), 1) == 0);
    for (const auto& line : {std::string("[]"), std::string(R"({"ok":"yes"})"), std::string(R"({"ok":true,"text":1})"),
                             std::string(R"({"ok":false,"error":[]})"), std::string(100'000, '[')}) {
        CAPTURE(line.substr(0, 100));
        auto asked = std::async(std::launch::async, [&] {
            return cli::ask_sweep(folder.path(), control::pause{}, std::chrono::seconds(20));
        });
        {
            const unique_fd one(::accept4(listening.get(), nullptr, nullptr, SOCK_CLOEXEC));
            const auto text = line + "\n";
            REQUIRE(::send(one.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
            char request[256];
            CHECK(::read(one.get(), request, sizeof request) > 0);
            const auto answer = asked.get();
            REQUIRE(answer.has_error());
            CHECK(answer.error().message.find("makes no sense") != std::string::npos);
        }
    }
}
