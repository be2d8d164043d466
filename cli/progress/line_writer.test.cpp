#include "cli/progress/line_writer.hpp"

#include "protocol/core/unique_fd.hpp"
#include "tests/support/catch.hpp"

#include <signal.h>
#include <unistd.h>

using namespace chalk;
using namespace chalk::cli;

namespace {

std::string lost(std::uint64_t count) {
    return "lost " + std::to_string(count);
}

struct pipe_pair {
    unique_fd read;
    unique_fd write;
    pipe_pair() {
        int ends[2];
        REQUIRE(::pipe(ends) == 0);
        read.reset(ends[0]);
        write.reset(ends[1]);
    }
    std::string drain() {
        std::string text;
        write.reset();
        char buffer[4096];
        for (ssize_t n = 0; (n = ::read(read.get(), buffer, sizeof buffer)) > 0;) {
            text.append(buffer, static_cast<std::size_t>(n));
        }
        return text;
    }
};

} // namespace

TEST_CASE("lines come out whole and in order, and the writer's end waits for them") {
    pipe_pair p;
    {
        line_writer w(p.write.get(), 1 << 20, lost);
        for (int i = 0; i < 100; ++i) {
            w.write(std::to_string(i));
        }
    }
    std::string expected;
    for (int i = 0; i < 100; ++i) {
        expected += std::to_string(i) + "\n";
    }
    CHECK(p.drain() == expected);
}

TEST_CASE("a reader that does not keep up loses lines and is told how many") {
    pipe_pair p;
    {
        line_writer w(p.write.get(), 100, lost);
        w.write(std::string(200, 'x')); // never fits
        w.write(std::string(200, 'y'));
        w.write("short");
    }
    CHECK(p.drain() == "lost 2\nshort\n");
}

TEST_CASE("a reader that went away is no error") {
    pipe_pair p;
    p.read.reset();
    ::signal(SIGPIPE, SIG_IGN);
    line_writer w(p.write.get(), 1 << 20, lost);
    w.write("nobody reads this");
}
