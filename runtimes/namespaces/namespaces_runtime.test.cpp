#include "runtimes/namespaces/namespaces_runtime.hpp"

#include "runtimes/namespaces/fixture.test.hpp"

#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <sstream>
#include <thread>

#include <poll.h>

using namespace chalk;
using chalk::test::namespaces_fixture;

TEST_CASE("a sandbox runs its harness and reports how it ended") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const auto result = here.run("echo hello >&3; echo last >&2; exit 7");
    CHECK(result.said == "hello\n");
    CHECK(result.exit.code == 7);
    CHECK(result.exit.signal == 0);
    CHECK(result.exit.last_words == "last\n");
}

TEST_CASE("a sandbox that waits burns no processor time outside its harness") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_namespaces_runtime(here.io.context(), here.options("sleep 0.6"));
    auto started = here.made->start(here.request());
    REQUIRE(started);
    const unique_fd channel = (*started)->take_host_channel();
    const std::string stat = fmt::format("/proc/{}/stat", (*started)->init_pid());
    std::string last;
    // The harness holds the other end of the channel: read() returns when it ends. Look before, not after.
    pollfd ended{channel.get(), POLLIN, 0};
    while (::poll(&ended, 1, 50) == 0) {
        std::ifstream in(stat);
        last.assign(std::istreambuf_iterator<char>(in), {});
    }
    REQUIRE_FALSE(last.empty());
    std::istringstream fields(last.substr(last.rfind(')') + 2));
    std::string skipped;
    for (int i = 0; i < 11; ++i) {
        fields >> skipped;
    }
    long user = -1;
    long system = -1;
    fields >> user >> system; // clock ticks of 10 ms
    CHECK(user + system >= 0);
    CHECK(user + system <= 10); // a loop that polls for nothing takes 60
    (void)here.wait(**started);
}

TEST_CASE("sandboxes made and ended at once from many threads do not mix up") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made =
        make_namespaces_runtime(here.io.context(), here.options("read -r code <&3; echo got $code >&2; exit $code"));
    sandbox_request like = here.request();
    like.out_folder.clear(); // one folder cannot be lent to many
    REQUIRE(here.made->prepare(like));
    constexpr int threads = 6;
    constexpr int each = 12;
    std::atomic<int> right{0};
    std::mutex talking;
    std::vector<std::string> wrong;
    std::vector<std::thread> all;
    for (int t = 0; t < threads; ++t) {
        all.emplace_back([&, t] {
            for (int i = 0; i < each; ++i) {
                const int code = 1 + t * each + i;
                sandbox_request one = like;
                one.id = run_id::parse(fmt::format("run-{}", code)).value();
                auto started = here.made->start(one);
                std::string problem = started ? "" : started.error().message;
                if (started) {
                    const unique_fd channel = (*started)->take_host_channel();
                    const std::string line = fmt::format("{}\n", code);
                    (void)!::write(channel.get(), line.data(), line.size());
                    const sandbox_exit end = here.wait(**started);
                    if (end.code != code || end.last_words != fmt::format("got {}\n", code)) {
                        problem = fmt::format("{} ended with {}: {}", code, end.code, end.last_words);
                    }
                    if (const auto removed = (*started)->remove(); !removed) {
                        problem += removed.error().message;
                    }
                }
                if (problem.empty()) {
                    ++right;
                } else {
                    const std::lock_guard lock(talking);
                    wrong.push_back(problem);
                }
            }
        });
    }
    for (std::thread& one : all) {
        one.join();
    }
    CAPTURE(wrong);
    CHECK(right == threads * each);
}

TEST_CASE("a harness that cannot be started is an exit with the reason as its last words") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    auto options = here.options("");
    options.harness = {"/no/such/program"};
    here.made = make_namespaces_runtime(here.io.context(), options);
    auto started = here.made->start(here.request());
    REQUIRE(started);
    const sandbox_exit end = here.wait(**started);
    CHECK(end.code == 127);
    CHECK(end.last_words == "start /no/such/program: No such file or directory\n");
}

TEST_CASE("only the end of what a harness says on stderr is kept") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    const auto result = here.run("head -c 3000000 /dev/zero | tr '\\0' x >&2; echo the end >&2; exit 3");
    CHECK(result.exit.code == 3);
    CHECK(result.exit.last_words.size() <= 4096);
    CHECK(result.exit.last_words.ends_with("xthe end\n"));
}

TEST_CASE(
    "a bundled program runs in the sandbox through its launcher, with arguments and without the image's libraries") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    // The bundled "chalk" is this test program: --list-test-names-only is an argument that it knows.
    const auto result = here.run("LD_PRELOAD=/nowhere.so /chalk/chalk --list-test-names-only >&3 2>&3; "
                                 "stat -c %a /chalk/chalk /chalk/bin/chalk /chalk/lib/loader /chalk/python >&3");
    INFO(result.all());
    CHECK(result.said.find("a sandbox runs its harness and reports how it ended") != std::string::npos);
    CHECK(result.said.find("nowhere") == std::string::npos);
    CHECK(result.said.ends_with("700\n700\n700\n700\n"));
}

TEST_CASE("what a kept sandbox wrote is left, and where is said") {
    namespaces_fixture here;
    CHALK_NEEDS_NAMESPACES(here);
    here.made = make_namespaces_runtime(here.io.context(), here.options("echo a > /workdir/a; echo b > /etc/b"));
    sandbox_request request = here.request();
    request.keep = true;
    auto started = here.made->start(request);
    INFO((started ? std::string() : started.error().message));
    REQUIRE(started);
    CHECK(here.wait(**started).code == 0);
    const auto removed = (*started)->remove();
    REQUIRE(removed);
    REQUIRE(removed->has_value());
    CHECK(std::filesystem::exists(**removed / "student/workdir/a"));
    CHECK(std::filesystem::exists(**removed / "root/changes/etc/b"));
}
