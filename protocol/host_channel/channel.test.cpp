#include "protocol/host_channel/channel.hpp"

#include "tests/support/catch.hpp"

#include <vector>

#include <sys/socket.h>

using chalk::unique_fd;
using chalk::host_channel::channel;
using namespace std::chrono_literals;

namespace {

struct end {
    std::shared_ptr<channel> line;
    std::vector<std::string> received;
    bool ended = false;
    std::optional<chalk::failure> why;
    int drained = 0;

    void open(boost::asio::io_context& io, unique_fd fd) {
        chalk::host_channel::channel_handlers handlers;
        handlers.on_line = [this](std::string_view text) { received.emplace_back(text); };
        handlers.on_end = [this](std::optional<chalk::failure> reason) {
            CHECK_FALSE(ended);
            ended = true;
            why = std::move(reason);
        };
        handlers.on_drained = [this] { ++drained; };
        auto opened = channel::open(io, std::move(fd), std::move(handlers));
        REQUIRE(opened.has_value());
        line = *opened;
    }
};

std::pair<unique_fd, unique_fd> socket_pair() {
    int fds[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
    return {unique_fd(fds[0]), unique_fd(fds[1])};
}

/// Runs the context until `done`, or fails.
template<class Done>
void run_until(boost::asio::io_context& io, Done done) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        io.restart();
        io.run_one_for(1s);
    }
}

void settle(boost::asio::io_context& io) {
    io.restart();
    while (io.poll_one() != 0) {
    }
}

} // namespace

TEST_CASE("lines of any size arrive whole and in order", "[host_channel]") {
    boost::asio::io_context io(1);
    auto [a, b] = socket_pair();
    end left;
    end right;
    left.open(io, std::move(a));
    right.open(io, std::move(b));

    left.line->send("one");
    left.line->send("");
    left.line->send(std::string(1'000'000, 'x'));
    left.line->send("last");
    run_until(io, [&] { return right.received.size() == 4; });
    CHECK(right.received[0] == "one");
    CHECK(right.received[1].empty());
    CHECK(right.received[2] == std::string(1'000'000, 'x'));
    CHECK(right.received[3] == "last");
    CHECK_FALSE(right.ended);
    left.line.reset();
    run_until(io, [&] { return right.ended; });
    CHECK_FALSE(right.why);
}

TEST_CASE("a queue over its limit is not writable until a slow reader has taken all of it", "[host_channel]") {
    boost::asio::io_context io(1);
    auto [a, b] = socket_pair();
    end left;
    end right;
    left.open(io, std::move(a));
    right.open(io, std::move(b));
    right.line->pause_reading();
    settle(io);

    std::size_t sent = 0;
    while (left.line->writable()) {
        left.line->send(std::string(100'000, 'x'));
        REQUIRE(++sent < 100);
    }
    settle(io);
    CHECK_FALSE(left.line->writable());
    CHECK(left.drained == 0);

    right.line->resume_reading();
    run_until(io, [&] { return right.received.size() == sent; });
    run_until(io, [&] { return left.drained == 1; });
    CHECK(left.line->writable());
}

TEST_CASE("finish writes what is queued before it closes", "[host_channel]") {
    boost::asio::io_context io(1);
    auto [a, b] = socket_pair();
    end left;
    end right;
    left.open(io, std::move(a));
    right.open(io, std::move(b));
    bool done = false;
    left.line->send(std::string(3'000'000, 'y'));
    left.line->finish([&] { done = true; });
    run_until(io, [&] { return done && right.ended; });
    REQUIRE(right.received.size() == 1);
    CHECK(right.received[0].size() == 3'000'000);
    CHECK_FALSE(left.ended);

    bool again = false;
    left.line->finish([&] { again = true; });
    run_until(io, [&] { return again; });
}

TEST_CASE("a line beyond the limit ends the channel with a reason", "[host_channel]") {
    boost::asio::io_context io(1);
    auto [a, b] = socket_pair();
    end left;
    end right;
    left.open(io, std::move(a));
    right.open(io, std::move(b));
    left.line->send(std::string(chalk::host_channel::line_limit + 70'000, 'z'));
    run_until(io, [&] { return right.ended; });
    REQUIRE(right.why);
    CHECK(right.why->kind == chalk::error_class::harness);
    CHECK(right.received.empty());
}

TEST_CASE("a descriptor that is no socket is refused or ends at once", "[host_channel]") {
    boost::asio::io_context io(1);
    CHECK(channel::open(io, unique_fd(-1), {}).has_error());
}

TEST_CASE("no callback follows close", "[host_channel]") {
    boost::asio::io_context io(1);
    auto [a, b] = socket_pair();
    end left;
    end right;
    left.open(io, std::move(a));
    right.open(io, std::move(b));
    settle(io);
    right.line->send("late");
    left.line->close();
    left.line->send("nowhere");
    run_until(io, [&] { return right.ended; });
    settle(io);
    CHECK(left.received.empty());
    CHECK_FALSE(left.ended);
}
