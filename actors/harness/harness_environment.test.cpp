/// Whole harnesses over real environment hosts: Python's, and programs that do not behave.
#include "actors/harness/inner.hpp"
#include "actors/harness/local_places.hpp"
#include "actors/system.hpp"
#include "protocol/host_channel/messages.hpp"
#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"

#include <fstream>
#include <thread>

#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;
namespace fs = std::filesystem;

namespace {

/// An environment in a folder that goes with the object.
struct environment_folder {
    fs::path folder;

    environment_folder() {
        auto name = (fs::temp_directory_path() / "chalk-test-env-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        folder = name;
    }
    ~environment_folder() { fs::remove_all(folder); }

    void write(const fs::path& file, const std::string& text) const {
        fs::create_directories((folder / file).parent_path());
        std::ofstream(folder / file) << text;
    }
    void python(const std::string& body) const {
        write("pyproject.toml", "[project]\nname = \"e\"\n");
        write("src/environment/__init__.py", "from chalk import *\nimport os, time\n"
                                             "class Always(Judge):\n    def evaluate(self, transcript):\n        "
                                             "return Score(0.5, explanation='half')\n" +
                                                 body);
    }
    void command(const std::string& script) const {
        write("pyproject.toml", "[tool.chalk]\ncommand = [\"/bin/sh\", \"host.sh\"]\n");
        write("host.sh", script);
    }
    config::run_config run(const char* script) const {
        config::run_config run;
        run.id = *run_id::parse("environment-test");
        run.environment = folder;
        run.use_fake_model = true;
        run.fake.script = json::parse(script);
        return run;
    }
};

constexpr const char* one_step = "class T(Task):\n"
                                 "    steps = [Step(name='s', instructions='go', judge=Always())]\n";

struct outcome_of_run {
    std::vector<event> events;
    template<class Body>
    const Body* find() const {
        for (const auto& e : events) {
            if (const auto* body = std::get_if<Body>(&e.body)) {
                return body;
            }
        }
        return nullptr;
    }
    const event_body& last() const {
        REQUIRE_FALSE(events.empty());
        return events.back().body;
    }
    const run_failed& error() const {
        INFO(to_line(events.back()));
        REQUIRE(std::holds_alternative<run_failed>(last()));
        return std::get<run_failed>(last());
    }
};

class forwarder : public event_sink::base {
  public:
    forwarder(caf::actor_config& cfg, std::vector<event>* into) : event_sink::base(cfg), into_(into) {}
    behavior_type make_behavior() override {
        return {[this](const events_recorded& m) {
                    for (const auto& one : m.events) {
                        into_->push_back(*one);
                    }
                },
                [](const run_prepared&) {}};
    }

  private:
    std::vector<event>* into_;
};

outcome_of_run run_locally(const config::run_config& run, const fs::path& out = {}) {
    auto places = local_places::make(std::make_shared<place_pool>(), run, out, CHALK_PYTHON_SOURCE, CHALK_FILE_TOOL);
    REQUIRE(places.has_value());
    outcome_of_run got;
    {
        io_thread io;
        actor_system_settings settings({2, true});
        caf::actor_system system(settings);
        caf::scoped_actor owner(system);
        auto sink = owner->spawn<forwarder, caf::monitored>(&got.events);
        auto harness = spawn_harness(owner.ptr(), io.context(), (*places)->options(run, false), sink);
        owner->monitor(harness);
        bool down = false;
        owner->receive([&](caf::down_msg&) { down = true; }, caf::after(60s) >> [] {});
        REQUIRE(down);
        // The sink has all events in its mailbox by now; its end comes behind them.
        owner->send_exit(sink, caf::exit_reason::user_shutdown);
        owner->receive([&](caf::down_msg&) {}, caf::after(60s) >> [] {});
    }
    REQUIRE((*places)->hand_over().has_value());
    REQUIRE((*places)->remove(true).has_value());
    return got;
}

} // namespace

TEST_CASE("a Python environment's run passes with its score, its log and its tool", "[environment]") {
    environment_folder e;
    e.python("class T(Task):\n"
             "    system_prompt = 'be brief'\n"
             "    steps = [Step(name='s', instructions='go', judge=Always())]\n"
             "    def configure_tools(self):\n"
             "        return [self.double]\n"
             "    def pre_hook(self):\n"
             "        print('hello from the hook')\n"
             "        return {'seed': 7}\n"
             "    @tool()\n"
             "    def double(self, n: int) -> str:\n"
             "        '''Doubles.'''\n"
             "        return str(2 * n)\n");
    const auto got =
        run_locally(e.run(R"([[{"tool_calls":[{"name":"double","arguments":{"n":21}}]},{"text":"done"}]])"));
    INFO(to_line(got.events.back()));
    REQUIRE(std::holds_alternative<task_completed>(got.last()));
    REQUIRE(got.find<tool_result>() != nullptr);
    CHECK(got.find<tool_result>()->text == "42");
    REQUIRE(got.find<step_scored>() != nullptr);
    CHECK(got.find<step_scored>()->score == 0.5);
    CHECK(got.find<step_scored>()->explanation == "half");
    CHECK(got.find<task_pre_hook_completed>()->metadata == json{{"seed", 7}});
    CHECK(std::any_of(got.events.begin(), got.events.end(), [](const event& one) {
        const auto* line = std::get_if<log_line>(&one.body);
        return line != nullptr && line->text == "hello from the hook";
    }));
    CHECK(got.find<message_added>()->role == message_role::system);
}

TEST_CASE("a judge that raises is an error of class task with its traceback", "[environment]") {
    environment_folder e;
    e.python("class Bad(Judge):\n    def evaluate(self, transcript):\n        raise ValueError('no idea')\n"
             "class T(Task):\n    steps = [Step(name='s', instructions='go', judge=Bad())]\n");
    const auto got = run_locally(e.run(R"([[{"text":"x"}]])"));
    CHECK(got.error().kind == error_class::task);
    CHECK_THAT(got.error().message, Catch::Matchers::Contains("no idea"));
    CHECK_THAT(got.error().details, Catch::Matchers::Contains("Traceback"));
}

TEST_CASE("StudentMisbehaviorError in the judge scores the step 0 and the run passes", "[environment]") {
    environment_folder e;
    e.python("class Strict(Judge):\n    def evaluate(self, transcript):\n"
             "        raise StudentMisbehaviorError('looked at the answers')\n"
             "class T(Task):\n    steps = [Step(name='s', instructions='go', judge=Strict())]\n");
    const auto got = run_locally(e.run(R"([[{"text":"x"}]])"));
    REQUIRE(got.find<step_scored>() != nullptr);
    CHECK(got.find<step_scored>()->score == 0);
    CHECK(got.find<step_scored>()->student_misbehaved);
    CHECK(std::get<task_completed>(got.last()).status == outcome_status::passed);
}

TEST_CASE("a judge that says not to continue skips the other steps and the run fails", "[environment]") {
    environment_folder e;
    e.python("class No(Judge):\n    def evaluate(self, transcript):\n        return Score(0, continue_task=False)\n"
             "class T(Task):\n    steps = [Step(name='a', instructions='go', judge=No()),\n"
             "             Step(name='b', instructions='go', judge=No())]\n");
    const auto got = run_locally(e.run(R"([[{"text":"x"}]])"));
    CHECK(std::get<task_completed>(got.last()).status == outcome_status::failed);
}

TEST_CASE("a tool that hangs is an error result within its deadline, and the run goes on", "[environment]") {
    environment_folder e;
    e.python("class T(Task):\n"
             "    steps = [Step(name='s', instructions='go', judge=Always())]\n"
             "    def configure_tools(self):\n        return [self.hang]\n"
             "    @tool(timeout_s=0.1)\n"
             "    def hang(self) -> str:\n"
             "        '''Hangs.'''\n"
             "        time.sleep(600)\n");
    const auto got = run_locally(e.run(R"([[{"tool_calls":[{"name":"hang","arguments":{}}]},{"text":"done"}]])"));
    INFO(to_line(got.events.back()));
    REQUIRE(got.find<tool_result>() != nullptr);
    CHECK(got.find<tool_result>()->is_error);
    CHECK(std::holds_alternative<task_completed>(got.last()));
}

TEST_CASE("an environment host that dies is an error of class task that says how, and never the harness's end",
          "[environment]") {
    environment_folder e;
    e.python(std::string(one_step) +
             "    def pre_hook(self):\n        import sys\n        print('going down', file=sys.stderr, flush=True)\n"
             "        os._exit(3)\n");
    const auto got = run_locally(e.run(R"([[{"text":"x"}]])"));
    CHECK(got.error().kind == error_class::task);
    CHECK_THAT(got.error().message, Catch::Matchers::Contains("exit code 3"));
}

TEST_CASE("a host that cannot be started, ends at once or speaks nonsense is an error that says so", "[environment]") {
    environment_folder e;
    SECTION("import fails") {
        e.python("raise RuntimeError('broken import')\n");
        CHECK_THAT(run_locally(e.run("[]")).error().message, Catch::Matchers::Contains("broken import"));
    }
    SECTION("ends at once") {
        e.command("echo gone >&2; exit 4\n");
        const auto got = run_locally(e.run("[]"));
        CHECK(got.error().kind == error_class::task);
        CHECK_THAT(got.error().message, Catch::Matchers::Contains("exit code 4") && Catch::Matchers::Contains("gone"));
    }
    SECTION("nonsense") {
        e.command("echo hello; cat >/dev/null\n");
        const auto got = run_locally(e.run("[]"));
        CHECK(got.error().kind == error_class::task);
        CHECK_THAT(got.error().message, Catch::Matchers::Contains("protocol"));
    }
    SECTION("another version of the protocol") {
        e.command("read line; echo '{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"protocol\":9,\"sdk\":\"x\"}}'; cat "
                  ">/dev/null\n");
        const auto got = run_locally(e.run("[]"));
        CHECK(got.error().kind == error_class::task);
        CHECK_THAT(got.error().message, Catch::Matchers::Contains("9"));
    }
    SECTION("no such program") {
        e.write("pyproject.toml", "[tool.chalk]\ncommand = [\"./absent\"]\n");
        CHECK_THAT(run_locally(e.run("[]")).error().message, Catch::Matchers::Contains("absent"));
    }
}

TEST_CASE("the student's bash works in the workdir, and artifacts are saved from there", "[environment]") {
    environment_folder e;
    e.write("student_data/given.txt", "given");
    e.python("class T(Task):\n"
             "    steps = [Step(name='s', instructions='go', judge=Always(),\n"
             "                  extra_config={'extra_artifact_paths': ['*.txt', 'link', '../escape']})]\n"
             "    def configure_tools(self):\n        return ['bash']\n");
    const auto out = e.folder / "out";
    const auto got = run_locally(
        e.run(
            R"([[{"tool_calls":[{"name":"bash","arguments":{"command":"cat data/given.txt; echo made > a.txt; ln -s /etc/passwd link; ln -s /etc/passwd b.txt"}}]},{"text":"done"}]])"),
        out);
    REQUIRE(got.find<tool_result>() != nullptr);
    CHECK(got.find<tool_result>()->text == "given");
    REQUIRE(got.find<artifact_saved>() != nullptr);
    CHECK(got.find<artifact_saved>()->path == "step-0/a.txt");
    CHECK(got.find<artifact_saved>()->size == 5);
    CHECK(fs::exists(out / "step-0/a.txt"));
    CHECK_FALSE(fs::exists(out / "step-0/b.txt"));
    CHECK_FALSE(fs::exists(out / "step-0/link"));
    CHECK_FALSE(fs::exists(out / "step-1"));
    CHECK(std::holds_alternative<task_completed>(got.last()));
}

// The harness as a sandbox runs it, at the other end of a host channel.

namespace {

struct inner_run {
    unique_fd host;
    std::thread harness;
    std::string buffer;
    int code = -1;

    explicit inner_run(const fs::path& environment) {
        int fds[2];
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) == 0);
        host.reset(fds[0]);
        inner_options options;
        options.places = {environment, environment, environment, environment, environment, CHALK_PYTHON_SOURCE};
        options.file_tool = CHALK_FILE_TOOL;
        options.harden = false; // of this machine
        harness = std::thread([this, fd = fds[1], options] { code = run_inner_harness(fd, options); });
    }
    ~inner_run() {
        host.reset();
        if (harness.joinable()) {
            harness.join();
        }
    }
    void say(const std::string& line) {
        const auto text = line + "\n";
        REQUIRE(::send(host.get(), text.data(), text.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(text.size()));
    }
    void start(const config::run_config& run, host_channel::harness_mode mode) {
        host_channel::start message;
        message.mode = mode;
        message.config = config::to_json(run);
        message.student.uid = ::getuid();
        message.student.gid = ::getgid();
        message.student.confinement_note = "a test's";
        say(to_line(message));
    }
    /// nullopt at the end of the stream.
    std::optional<host_channel::harness_message> next() {
        for (;;) {
            if (const auto end = buffer.find('\n'); end != std::string::npos) {
                auto parsed = host_channel::parse_harness_message(buffer.substr(0, end));
                buffer.erase(0, end + 1);
                REQUIRE(parsed.has_value());
                return std::move(*parsed);
            }
            pollfd waiting{host.get(), POLLIN, 0};
            REQUIRE(::poll(&waiting, 1, 60'000) == 1);
            char bytes[65536];
            const auto size = ::read(host.get(), bytes, sizeof bytes);
            if (size <= 0) {
                return std::nullopt;
            }
            buffer.append(bytes, static_cast<std::size_t>(size));
        }
    }
    /// The event that ended the run.
    event last_event() {
        std::optional<event> last;
        while (auto message = next()) {
            if (auto* one = std::get_if<event>(&*message)) {
                last = std::move(*one);
            }
        }
        REQUIRE(last);
        harness.join();
        return *last;
    }
};

} // namespace

TEST_CASE("a harness at the end of a host channel runs what Start says and ends with code 0", "[inner]") {
    environment_folder e;
    e.python(one_step);
    inner_run inner(e.folder);
    auto run = e.run(R"([[{"text":"x"}]])");
    inner.start(run, host_channel::harness_mode::run);
    const auto last = inner.last_event();
    INFO(to_line(last));
    CHECK(std::get<task_completed>(last.body).status == outcome_status::passed);
    CHECK(inner.code == 0);
}

TEST_CASE("in mode describe the harness says which tasks there are", "[inner]") {
    environment_folder e;
    e.python(std::string(one_step) + "    name = 'first'\n    required_hardware = 'cpu'\n");
    inner_run inner(e.folder);
    inner.start(e.run("[]"), host_channel::harness_mode::describe);
    auto message = inner.next();
    while (message && std::holds_alternative<event>(*message)) {
        const auto& one = std::get<event>(*message);
        INFO(to_line(one));
        REQUIRE_FALSE(is_final(one.body));
        message = inner.next();
    }
    REQUIRE(message);
    const auto& tasks = std::get<host_channel::described>(*message).tasks;
    REQUIRE(tasks.size() == 1);
    CHECK(tasks[0].name == "first");
    CHECK(tasks[0].steps == 1);
    CHECK_FALSE(inner.next());
    inner.harness.join();
    CHECK(inner.code == 0);
}

TEST_CASE("in mode describe a broken environment is an ErrorEvent", "[inner]") {
    environment_folder e;
    e.python("raise RuntimeError('broken import')\n");
    inner_run inner(e.folder);
    inner.start(e.run("[]"), host_channel::harness_mode::describe);
    const auto last = inner.last_event();
    CHECK(std::get<run_failed>(last.body).kind == error_class::task);
    CHECK_THAT(std::get<run_failed>(last.body).message, Catch::Matchers::Contains("broken import"));
}

TEST_CASE("a prepared harness says so, waits, and ends when it is cancelled", "[inner]") {
    environment_folder e;
    e.python(one_step);
    inner_run inner(e.folder);
    inner.start(e.run("[]"), host_channel::harness_mode::prepare);
    auto message = inner.next();
    while (message && std::holds_alternative<event>(*message)) {
        message = inner.next();
    }
    REQUIRE(message);
    CHECK(std::holds_alternative<host_channel::prepared>(*message));
    CHECK(fs::exists("/tmp/chalk_prepared_environment-test"));
    inner.say(to_line(host_channel::cancel{"enough"}));
    CHECK(std::get<run_cancelled>(inner.last_event().body).reason == "enough");
    CHECK(inner.code == 0);
}

TEST_CASE("a harness whose host goes away kills its environment and ends", "[inner]") {
    environment_folder e;
    e.python(std::string(one_step) +
             "    def pre_hook(self):\n        open('pid', 'w').write(str(os.getpid()))\n        time.sleep(600)\n");
    inner_run inner(e.folder);
    inner.start(e.run("[]"), host_channel::harness_mode::run);
    pid_t host = 0;
    while (auto message = inner.next()) {
        const auto* one = std::get_if<event>(&*message);
        if (one != nullptr && std::holds_alternative<log_line>(one->body)) {
            break; // the confinement note: pre_hook is next
        }
    }
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!(std::ifstream(e.folder / "pid") >> host)) {
        REQUIRE(std::chrono::steady_clock::now() < deadline);
        std::this_thread::yield();
    }
    REQUIRE(::kill(host, 0) == 0);
    inner.host.reset();
    inner.harness.join();
    CHECK(inner.code == 1);
    CHECK(::kill(host, 0) != 0);
}

TEST_CASE("a first message that is no Start, or a config that is none, is an ErrorEvent", "[inner]") {
    environment_folder e;
    e.python(one_step);
    inner_run inner(e.folder);
    SECTION("nonsense") {
        inner.say("nonsense");
        CHECK(std::get<run_failed>(inner.last_event().body).kind == error_class::harness);
    }
    SECTION("a config with an unknown key") {
        host_channel::start message;
        message.config = config::to_json(e.run("[]"));
        message.config["modle"] = "x";
        inner.say(to_line(message));
        CHECK(std::get<run_failed>(inner.last_event().body).kind == error_class::config);
    }
}
