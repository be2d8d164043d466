#include "protocol/environment/client.hpp"

#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <vector>

#include <fcntl.h>
#include <poll.h>

using namespace chalk;
using namespace chalk::environment;
using namespace std::chrono_literals;

namespace {

constexpr auto patience = 20s; ///< bounds a broken test; nothing waits for it to pass
constexpr milliseconds long_deadline = 60s;

struct pipe_ends {
    unique_fd read;
    unique_fd write;

    pipe_ends() {
        int fds[2];
        REQUIRE(::pipe2(fds, O_CLOEXEC) == 0);
        read.reset(fds[0]);
        write.reset(fds[1]);
    }
};

/// What the client's callbacks said, for the test's thread to wait for.
class record {
  public:
    std::function<void(call_result)> expect() {
        auto index = answers_.size();
        answers_.emplace_back();
        return [this, index](call_result got) {
            std::lock_guard lock(mutex_);
            answers_[index].push_back(std::move(got));
            changed_.notify_all();
        };
    }

    call_result answer(std::size_t index) {
        wait([&] { return !answers_[index].empty(); });
        std::lock_guard lock(mutex_);
        REQUIRE(answers_[index].size() == 1);
        return answers_[index].front();
    }

    client_handlers handlers() {
        return {[this](log_line line) {
                    std::lock_guard lock(mutex_);
                    logs_.push_back(std::move(line));
                    changed_.notify_all();
                },
                [this](const call_error& why) {
                    std::lock_guard lock(mutex_);
                    closed_.push_back(why);
                    changed_.notify_all();
                }};
    }

    call_error closed() {
        wait([&] { return !closed_.empty(); });
        std::lock_guard lock(mutex_);
        REQUIRE(closed_.size() == 1);
        return closed_.front();
    }

    std::vector<log_line> logs(std::size_t count) {
        wait([&] { return logs_.size() >= count; });
        std::lock_guard lock(mutex_);
        return logs_;
    }

  private:
    template<class Condition>
    void wait(Condition condition) {
        std::unique_lock lock(mutex_);
        REQUIRE(changed_.wait_for(lock, patience, condition));
    }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::vector<call_result>> answers_;
    std::vector<log_line> logs_;
    std::vector<call_error> closed_;
};

/// The far ends of the client's pipes: an environment host whose every move the test makes.
struct scripted_host {
    pipe_ends in;
    pipe_ends out;
    pipe_ends err;
    record seen;
    io_thread io;
    std::shared_ptr<client> under_test =
        client::open(io.context(), std::move(in.write), std::move(out.read), std::move(err.read), seen.handlers());
    std::string unread;

    json read_request() {
        while (unread.find('\n') == std::string::npos) {
            pollfd wait{in.read.get(), POLLIN, 0};
            REQUIRE(::poll(&wait, 1, 20'000) == 1);
            char buffer[4096];
            auto n = ::read(in.read.get(), buffer, sizeof buffer);
            REQUIRE(n > 0);
            unread.append(buffer, static_cast<std::size_t>(n));
        }
        auto line = unread.substr(0, unread.find('\n'));
        unread.erase(0, line.size() + 1);
        return json::parse(line);
    }

    static void write(const unique_fd& to, const std::string& text) {
        for (std::size_t done = 0; done < text.size();) {
            auto n = ::write(to.get(), text.data() + done, text.size() - done);
            REQUIRE(n > 0);
            done += static_cast<std::size_t>(n);
        }
    }

    void say(const std::string& line) { write(out.write, line + "\n"); }
    void answer(const json& id, const json& result) {
        say(json{{"jsonrpc", "2.0"}, {"id", id}, {"result", result}}.dump());
    }
};

} // namespace

TEST_CASE("a call's answer reaches its caller", "[environment]") {
    scripted_host host;
    host.under_test->call("load_task", {{"name", "t"}}, long_deadline, host.seen.expect());
    auto request = host.read_request();
    CHECK(request["method"] == "load_task");
    CHECK(request["params"]["name"] == "t");
    host.answer(request["id"], {{"name", "t"}});
    auto got = host.seen.answer(0);
    REQUIRE(got.has_value());
    CHECK((*got)["name"] == "t");
}

TEST_CASE("answers find their calls whatever their order", "[environment]") {
    scripted_host host;
    for (int i = 0; i < 3; ++i) {
        host.under_test->call("m" + std::to_string(i), json::object(), long_deadline, host.seen.expect());
    }
    std::vector<json> requests{host.read_request(), host.read_request(), host.read_request()};
    for (auto i : {2, 0, 1}) {
        host.answer(requests[static_cast<std::size_t>(i)]["id"], requests[static_cast<std::size_t>(i)]["method"]);
    }
    for (std::size_t i = 0; i < 3; ++i) {
        CHECK(host.seen.answer(i).value() == "m" + std::to_string(i));
    }
}

TEST_CASE("what a call says while it runs reaches its caller before the answer, and nobody else", "[environment]") {
    scripted_host host;
    std::mutex mutex;
    std::vector<std::string> heard;
    const auto listen = [&](const call_report& what) {
        const std::lock_guard lock(mutex);
        const auto* progress = std::get_if<tool_progress>(&what);
        heard.push_back(progress != nullptr ? progress->message : std::get<log_line>(what).text);
    };
    host.under_test->call("call_tool", json::object(), long_deadline, host.seen.expect(), listen);
    host.under_test->call("call_tool", json::object(), long_deadline, host.seen.expect());
    const auto note = [&](const char* method, json params) {
        host.say(json{{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}}.dump());
    };
    note("progress", {{"call", 1}, {"done", 1}, {"message", "a"}});
    note("progress", {{"call", 2}, {"done", 1}, {"message", "nobody listens"}});
    note("progress", {{"call", 99}, {"done", 1}, {"message", "no such call"}});
    note("log", {{"call", 1}, {"level", "info"}, {"text", "b"}});
    note("log", {{"level", "info"}, {"text", "of no call"}});
    host.answer(1, nullptr);
    note("progress", {{"call", 1}, {"done", 2}, {"message", "late"}});
    host.answer(2, nullptr);
    (void)host.seen.answer(1);
    const std::lock_guard lock(mutex);
    CHECK(heard == std::vector<std::string>{"a", "b"});
    CHECK(host.seen.logs(2).size() == 2);
}

TEST_CASE("a call that passes its deadline is cancelled, and its late answer is dropped", "[environment]") {
    scripted_host host;
    host.under_test->call("slow", json::object(), 10ms, host.seen.expect());
    auto request = host.read_request();
    auto got = host.seen.answer(0);
    REQUIRE(got.has_error());
    CHECK(got.error().kind == call_error_kind::timeout);
    CHECK(got.error().message == "no answer from the environment within 10 ms");
    auto cancel = host.read_request();
    CHECK(cancel["method"] == "cancel");
    CHECK(cancel["params"]["id"] == request["id"]);
    CHECK_FALSE(cancel.contains("id"));

    host.answer(request["id"], "late");
    host.under_test->call("next", json::object(), long_deadline, host.seen.expect());
    host.answer(host.read_request()["id"], "in time");
    CHECK(host.seen.answer(1).value() == "in time");
    CHECK(host.seen.answer(0).has_error());
}

TEST_CASE("a later call with an earlier deadline is not held up by the first one's", "[environment]") {
    scripted_host host;
    host.under_test->call("patient", json::object(), long_deadline, host.seen.expect());
    host.under_test->call("hasty", json::object(), 5ms, host.seen.expect());
    CHECK(host.seen.answer(1).error().kind == call_error_kind::timeout);
    host.answer(host.read_request()["id"], 1);
    CHECK(host.seen.answer(0).value() == 1);
}

TEST_CASE("an answer in time leaves the other deadlines in force", "[environment]") {
    scripted_host host;
    host.under_test->call("first", json::object(), 50ms, host.seen.expect());
    host.under_test->call("second", json::object(), 60ms, host.seen.expect());
    host.answer(host.read_request()["id"], 1);
    CHECK(host.seen.answer(0).value() == 1);
    CHECK(host.seen.answer(1).error().kind == call_error_kind::timeout);
}

TEST_CASE("the environment's own error comes through", "[environment]") {
    scripted_host host;
    host.under_test->call("judge", json::object(), long_deadline, host.seen.expect());
    auto id = host.read_request()["id"];
    host.say(json{{"jsonrpc", "2.0"}, {"id", id}, {"error", {{"code", -32001}, {"message", "cheated"}}}}.dump());
    auto error = host.seen.answer(0).error();
    CHECK(error.kind == call_error_kind::remote);
    CHECK(error.code == static_cast<int>(rpc_code::student_misbehavior));
}

TEST_CASE("a host that dies closes every open call, once, and its last words are heard first", "[environment]") {
    scripted_host host;
    host.under_test->call("a", json::object(), long_deadline, host.seen.expect());
    host.under_test->call("b", json::object(), long_deadline, host.seen.expect());
    host.read_request();
    host.read_request();
    scripted_host::write(host.err.write, "Segmentation fault\nhalf a li");
    host.out.write.reset(); // err stays open, as when a grandchild holds it
    for (std::size_t i : {0U, 1U}) {
        CHECK(host.seen.answer(i).error().kind == call_error_kind::closed);
    }
    CHECK(host.seen.closed().kind == call_error_kind::closed);
    auto logs = host.seen.logs(2);
    CHECK(logs[0].text == "Segmentation fault");
    CHECK(logs[1].text == "half a li");
    CHECK(logs[0].level == log_level::warning);

    host.under_test->call("c", json::object(), long_deadline, host.seen.expect());
    CHECK(host.seen.answer(2).error().kind == call_error_kind::closed);
}

TEST_CASE("a host that closed its input does not raise a signal; the end of its output is what counts",
          "[environment]") {
    scripted_host host;
    host.in.read.reset();
    host.under_test->call("a", json::object(), long_deadline, host.seen.expect());
    host.under_test->call("b", json::object(), 5ms, host.seen.expect());
    CHECK(host.seen.answer(1).error().kind == call_error_kind::timeout);
    host.out.write.reset();
    CHECK(host.seen.answer(0).error().kind == call_error_kind::closed);
}

TEST_CASE("a broken protocol closes the client and says what broke it", "[environment]") {
    scripted_host host;
    host.under_test->call("a", json::object(), long_deadline, host.seen.expect());
    host.read_request();
    SECTION("print on the wire") {
        host.say("hello world");
        CHECK(host.seen.closed().message.find("not JSON") != std::string::npos);
    }
    SECTION("an answer nobody waits for") {
        host.answer(99, 1);
        CHECK(host.seen.closed().message.find("call 99") != std::string::npos);
    }
    SECTION("an endless line") {
        ::signal(SIGPIPE, SIG_IGN); // the client closes while we still write
        std::string chunk(1 << 20, 'x');
        for (int i = 0; i < 66; ++i) {
            for (std::size_t done = 0; done < chunk.size();) {
                auto n = ::write(host.out.write.get(), chunk.data() + done, chunk.size() - done);
                if (n < 0) {
                    break;
                }
                done += static_cast<std::size_t>(n);
            }
        }
        ::signal(SIGPIPE, SIG_DFL);
        CHECK(host.seen.closed().message.find("64 MiB") != std::string::npos);
    }
    CHECK(host.seen.closed().kind == call_error_kind::protocol);
    CHECK(host.seen.answer(0).error().kind == call_error_kind::protocol);
}

TEST_CASE("two answers to one call break the protocol", "[environment]") {
    scripted_host host;
    host.under_test->call("a", json::object(), long_deadline, host.seen.expect());
    auto id = host.read_request()["id"];
    host.answer(id, 1);
    host.answer(id, 2);
    CHECK(host.seen.closed().kind == call_error_kind::protocol);
    CHECK(host.seen.answer(0).value() == 1);
}

TEST_CASE("logs come in order, from the wire and from the error stream", "[environment]") {
    scripted_host host;
    host.say(R"({"jsonrpc":"2.0","method":"log","params":{"level":"debug","text":"one"}})");
    CHECK(host.seen.logs(1)[0].level == log_level::debug);
    scripted_host::write(host.err.write, "from a child \xff\n" + std::string(10'000, 'y') + "\n");
    auto logs = host.seen.logs(3);
    CHECK(logs[1].text == "from a child \xEF\xBF\xBD");
    CHECK(logs[2].text.find("[1808 bytes cut]") == 8192 + 1);
}

TEST_CASE("a flood of log lines is bounded and what was dropped is said", "[environment]") {
    scripted_host host;
    std::string flood;
    for (int i = 0; i < 5'000; ++i) {
        flood += "x\n";
    }
    scripted_host::write(host.err.write, flood);
    host.out.write.reset();
    host.seen.closed();
    auto logs = host.seen.logs(1);
    // 5,000 lines may fall into several seconds on a slow machine; none may be lost without a word.
    std::size_t plain = 0;
    std::size_t dropped = 0;
    for (const auto& line : logs) {
        line.source == "chalk" ? dropped += std::stoul(line.text) : ++plain;
    }
    CHECK(plain + dropped == 5'000);
    CHECK(dropped > 0);
}

TEST_CASE("a client that goes away closes its streams and ends its calls", "[environment]") {
    scripted_host host;
    host.under_test->call("a", json::object(), long_deadline, host.seen.expect());
    host.read_request();
    host.under_test.reset();
    CHECK(host.seen.answer(0).error().kind == call_error_kind::closed);
    CHECK(host.seen.closed().message.find("harness closed") != std::string::npos);
    char byte = 0;
    CHECK(::read(host.in.read.get(), &byte, 1) == 0);
}
