/// The client and both SDKs, end to end: what one says the other understands.
#include "protocol/environment/client.hpp"
#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

using namespace chalk;
using namespace chalk::environment;
using namespace std::chrono_literals;

namespace {

namespace fs = std::filesystem;

constexpr milliseconds long_deadline = 60s;

/// An environment host as a child process, ended with this object.
class running_host {
  public:
    running_host(std::vector<std::string> argv, fs::path environment) : environment_(std::move(environment)) {
        int in[2];
        int out[2];
        int err[2];
        REQUIRE(::pipe2(in, O_CLOEXEC) == 0);
        REQUIRE(::pipe2(out, O_CLOEXEC) == 0);
        REQUIRE(::pipe2(err, O_CLOEXEC) == 0);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_adddup2(&actions, in[0], 0);
        posix_spawn_file_actions_adddup2(&actions, out[1], 1);
        posix_spawn_file_actions_adddup2(&actions, err[1], 2);
        std::vector<char*> words;
        for (auto& word : argv) {
            words.push_back(word.data());
        }
        words.push_back(nullptr);
        std::string path = "PATH=/usr/bin:/bin";
        std::string sdk = "PYTHONPATH=" CHALK_TEST_SDK;
        std::string bytecode = "PYTHONDONTWRITEBYTECODE=1";
        char* variables[] = {path.data(), sdk.data(), bytecode.data(), nullptr};
        REQUIRE(::posix_spawn(&pid_, words[0], &actions, nullptr, words.data(), variables) == 0);
        posix_spawn_file_actions_destroy(&actions);
        for (int fd : {in[0], out[1], err[1]}) {
            ::close(fd);
        }
        client_ = client::open(io_.context(), unique_fd(in[1]), unique_fd(out[0]), unique_fd(err[0]),
                               {[this](log_line line) {
                                    std::lock_guard lock(mutex_);
                                    logs_.push_back(std::move(line));
                                },
                                [this](const call_error& why) { closed_.set_value(why); }});
    }

    running_host(const running_host&) = delete;
    running_host& operator=(const running_host&) = delete;

    ~running_host() {
        client_.reset();
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
    }

    call_result call(const std::string& method, const json& params, milliseconds deadline = long_deadline,
                     report_handler report = nullptr) {
        auto answered = std::make_shared<std::promise<call_result>>();
        auto future = answered->get_future();
        client_->call(
            method, params, deadline, [answered](call_result got) { answered->set_value(std::move(got)); },
            std::move(report));
        REQUIRE(future.wait_for(2min) == std::future_status::ready);
        return future.get();
    }

    json ok(const std::string& method, const json& params = json::object()) {
        auto got = call(method, params);
        INFO(method << ": " << (got.has_error() ? got.error().message + got.error().details : ""));
        REQUIRE(got.has_value());
        return *got;
    }

    void load() {
        ok("initialize",
           {{"protocol", 1}, {"chalk_version", "0.1.0"}, {"paths", {{"environment", environment_.string()}}}});
        ok("load_task", {{"name", ""}, {"args", json::object()}});
    }

    /// Waits for its end after `shutdown`.
    int status() {
        int status = 0;
        REQUIRE(::waitpid(std::exchange(pid_, -1), &status, 0) > 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    }

    call_error closed() {
        auto future = closed_.get_future();
        REQUIRE(future.wait_for(2min) == std::future_status::ready);
        return future.get();
    }

    std::vector<log_line> logs() {
        std::lock_guard lock(mutex_);
        return logs_;
    }

  private:
    fs::path environment_;
    pid_t pid_ = -1;
    std::mutex mutex_;
    std::vector<log_line> logs_;
    std::promise<call_error> closed_;
    io_thread io_;
    std::shared_ptr<client> client_;
};

std::vector<std::string> python_host() {
    return {CHALK_TEST_PYTHON, "-m", "chalk.host"};
}

/// A Python environment of one file, removed with this object.
struct temporary_environment {
    fs::path folder;

    explicit temporary_environment(const std::string& source) {
        std::string name = (fs::temp_directory_path() / "chalk_test_env_XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
        fs::create_directories(folder / "src" / "environment");
        std::ofstream(folder / "src" / "environment" / "__init__.py") << source;
    }
    temporary_environment(const temporary_environment&) = delete;
    temporary_environment& operator=(const temporary_environment&) = delete;
    ~temporary_environment() { fs::remove_all(folder); }
};

} // namespace

TEST_CASE("a native environment goes through a whole run", "[environment]") {
    running_host host({CHALK_TEST_NATIVE}, fs::path(CHALK_TEST_NATIVE).parent_path());
    host.load();
    auto tools = host.ok("configure_tools");
    REQUIRE(tools["tools"].size() == 1);
    CHECK(tools["tools"][0]["name"] == "submit");
    CHECK(host.ok("pre_hook")["metadata"] == json{{"left", 19}, {"right", 23}});
    CHECK(host.ok("system_prompt")["text"].is_string());
    CHECK(host.ok("start_step", {{"index", 0}})["instructions"].is_string());

    auto wrong = host.call("call_tool", {{"name", "submit"}, {"arguments", {{"sum", "many"}}}});
    REQUIRE(wrong.has_error());
    CHECK(wrong.error().code == static_cast<int>(rpc_code::environment_exception));
    CHECK(host.ok("judge", {{"index", 0}, {"transcript", json::object()}})["score"] == 0.0);

    auto output = host.ok("call_tool", {{"name", "submit"}, {"arguments", {{"sum", 42}}}});
    CHECK(output["is_error"] == false);
    host.ok("pre_scoring_hook", {{"index", 0}});
    CHECK(host.ok("judge", {{"index", 0}, {"transcript", json::object()}})["score"] == 1.0);
    host.ok("post_hook", {{"index", 0}});
    host.ok("shutdown");
    CHECK(host.status() == 0);
    CHECK(host.closed().kind == call_error_kind::closed);
    CHECK(host.logs().empty());
}

TEST_CASE("both SDKs refuse the same things with the same codes", "[environment]") {
    auto native = GENERATE(true, false);
    auto argv = native ? std::vector<std::string>{CHALK_TEST_NATIVE} : python_host();
    auto folder = native ? fs::path(CHALK_TEST_NATIVE).parent_path() : fs::path(CHALK_TEST_EXAMPLES) / "hello";
    CAPTURE(native);
    running_host host(argv, folder);
    auto code = [&](const std::string& method, const json& params) {
        auto got = host.call(method, params);
        return got.has_error() ? got.error().code : 0;
    };
    CHECK(code("initialize", {{"protocol", 2}, {"paths", json::object()}}) == -32602);
    CHECK(code("pre_hook", json::object()) == -32602);
    host.load();
    CHECK(code("load_task", {{"name", "no such task"}, {"args", json::object()}}) == -32602);
    CHECK(code("load_task", {{"name", 5}}) == -32602);
    CHECK(code("load_task", {{"name", ""}, {"seed", -1}}) == -32602);
    CHECK(code("load_task", {{"name", ""}, {"seed", "1"}}) == -32602);
    CHECK(code("start_step", {{"index", 1}}) == -32602);
    CHECK(code("start_step", {{"index", -1}}) == -32602);
    CHECK(code("start_step", {{"index", true}}) == -32602);
    CHECK(code("call_tool", {{"name", "nothing"}, {"arguments", json::object()}}) == -32602);
    CHECK(code("judge", {{"index", 0}}) == -32602);
    CHECK(code("dance", json::object()) == -32601);
    CHECK(code("list_tasks", json::array()) == -32602);
    CHECK(host.ok("list_tasks")["tasks"][0]["steps"] == 1);
}

TEST_CASE("a C++ task has the run's seed when it is loaded", "[environment]") {
    running_host host({CHALK_TEST_NATIVE}, fs::path(CHALK_TEST_NATIVE).parent_path());
    host.load();
    CHECK(host.ok("pre_hook")["metadata"] == json{{"left", 19}, {"right", 23}});
    host.ok("load_task", {{"name", ""}, {"args", {{"random", true}}}, {"seed", 99 * 6 + 4}});
    CHECK(host.ok("pre_hook")["metadata"] == json{{"left", 5}, {"right", 7}});
}

TEST_CASE("a native tool says how far it is, and what it cannot send is an error of its call", "[environment]") {
    running_host host({CHALK_TEST_REPORTING}, fs::path(CHALK_TEST_REPORTING).parent_path());
    host.load();
    host.ok("configure_tools");
    host.ok("pre_hook");
    std::vector<std::string> heard; // written before the answer, read after it
    const auto listen = [&heard](const call_report& what) {
        const auto* progress = std::get_if<tool_progress>(&what);
        heard.push_back(progress == nullptr ? std::get<log_line>(what).text
                                            : progress->message + " of " + std::to_string(progress->total.value_or(0)));
    };
    const json count{{"name", "count"}, {"arguments", json::object()}};
    REQUIRE(host.call("call_tool", count, long_deadline, listen).has_value());
    CHECK(heard == std::vector<std::string>{"at 1 of 3.000000", "at 2 of 3.000000", "at 3 of 3.000000", "counted"});
    CHECK(host.logs().size() == 2);
    CHECK(host.call("call_tool", {{"name", "odd"}, {"arguments", json::object()}}).error().code == -32000);
    CHECK(host.call("call_tool", {{"name", "huge"}, {"arguments", json::object()}}).error().message.find("64 MiB") !=
          std::string::npos);
    CHECK(host.ok("call_tool", count)["is_error"] == false);
}

TEST_CASE("a Python call beyond its deadline is interrupted, and the next call is answered", "[environment]") {
    temporary_environment environment("import time\nfrom chalk import *\n"
                                      "class Sleepy(Task):\n"
                                      "    steps = [Step(instructions='x')]\n"
                                      "    def pre_hook(self):\n"
                                      "        time.sleep(3600)\n");
    running_host host(python_host(), environment.folder);
    host.load();
    auto got = host.call("pre_hook", json::object(), 50ms);
    REQUIRE(got.has_error());
    CHECK(got.error().kind == call_error_kind::timeout);
    CHECK(host.ok("start_step", {{"index", 0}})["instructions"] == "x");
}

TEST_CASE("what a Python environment prints comes as log lines", "[environment]") {
    temporary_environment environment("import os\nfrom chalk import *\n"
                                      "class Loud(Task):\n"
                                      "    steps = [Step(instructions='x')]\n"
                                      "    def pre_hook(self):\n"
                                      "        print('{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":1}')\n"
                                      "        os.system('echo from a child')\n");
    running_host host(python_host(), environment.folder);
    host.load();
    CHECK(host.ok("pre_hook")["metadata"].is_null());
    host.ok("shutdown");
    host.closed();
    bool printed = false;
    bool child = false;
    for (const auto& line : host.logs()) {
        printed |= line.level == log_level::info && line.text == R"({"jsonrpc":"2.0","id":1,"result":1})";
        child |= line.level == log_level::warning && line.text == "from a child";
    }
    CHECK(printed);
    CHECK(child);
    CHECK(host.status() == 0);
}

TEST_CASE("a host that is killed in a call ends the call at once", "[environment]") {
    temporary_environment environment("import os, signal\nfrom chalk import *\n"
                                      "class Dying(Task):\n"
                                      "    steps = [Step(instructions='x')]\n"
                                      "    def pre_hook(self):\n"
                                      "        print('last words', file=__import__('sys').stderr)\n"
                                      "        os.kill(os.getpid(), signal.SIGKILL)\n");
    running_host host(python_host(), environment.folder);
    host.load();
    auto got = host.call("pre_hook", json::object());
    REQUIRE(got.has_error());
    CHECK(got.error().kind == call_error_kind::closed);
    CHECK(host.closed().kind == call_error_kind::closed);
    REQUIRE(host.logs().size() == 1);
    CHECK(host.logs()[0].text == "last words");
    CHECK(host.status() == -SIGKILL);
}
