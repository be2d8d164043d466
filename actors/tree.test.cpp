#include "actors/tree.test.hpp"

#include "protocol/backend/spool.hpp"

#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/write.hpp>

#include <array>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

TEST_CASE("a run goes through its sandbox and ends as its harness says, with its transcript on disk") {
    tree t;
    t.start(1);
    CHECK(t.sandboxes->of("r0")->heard().find(R"("type":"Start")") != std::string::npos);
    CHECK(t.watch->began == std::vector<std::string>{"r0"});
    t.pass_run("r0");
    CHECK(t.how("r0") == outcome::passed());
    CHECK(t.watch->results.at("r0").has_transcript);
    CHECK(t.transcript("r0")["outcome"]["status"] == "passed");
    CHECK(t.sandboxes->asked() == std::vector<std::string>{"prepare r0", "start r0", "remove r0"});
    CHECK(t.sandboxes->of("r0")->destroyed);
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->passed == 1);
    CHECK_FALSE(t.watch->gave_up);
}

TEST_CASE("of many runs each ends with the class of what befell it, and the rest pass") {
    tree t;
    t.sandboxes->prepare_fails.emplace("r1", failure{error_class::image, "no image"});
    t.sandboxes->start_fails.emplace("r2", sandbox_failure("no cgroup"));
    t.start(8);
    t.die("r3");                                                           // harness killed
    t.say("r4", 1, run_failed{error_class::task, "the judge raised", {}}); // environment raised
    t.die("r4", {});
    t.die("r5", {.code = 0, .signal = 9, .memory_exhausted = true, .last_words = {}}); // out of memory
    t.sandboxes->of("r6")->say("{nonsense");                                           // protocol broken
    t.settle();
    t.die("r6");
    t.pass_run("r0");
    t.pass_run("r7");
    REQUIRE(t.watch->ended);
    CHECK(t.how("r0") == outcome::passed());
    CHECK(t.how("r1").kind == error_class::image);
    CHECK(t.how("r2").kind == error_class::sandbox);
    CHECK(t.how("r3").kind == error_class::harness);
    CHECK(t.how("r4").kind == error_class::task);
    CHECK(t.how("r5").kind == error_class::sandbox);
    CHECK(t.how("r6").kind == error_class::harness);
    CHECK(t.how("r7") == outcome::passed());
    for (const auto& [id, what] : t.watch->results) {
        INFO(id);
        CHECK(what.has_transcript);
        CHECK(t.transcript(id)["outcome"]["status"] == to_string(what.how.status));
    }
    CHECK(t.watch->ended->errors == 6);
}

TEST_CASE("no more runs are in sandboxes at once than the ledger has room for") {
    tree t;
    t.capacity.memory = 2_GiB;
    t.start(5);
    CHECK(t.sandboxes->started() == 2);
    t.pass_run("r0");
    CHECK(t.sandboxes->started() == 3);
    t.pass_run("r2");
    t.pass_run("r1");
    CHECK(t.sandboxes->started() == 5);
    t.pass_run("r3");
    t.pass_run("r4");
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->passed == 5);
}

TEST_CASE("a run that can never fit ends as a config error and holds up nobody") {
    tree t;
    t.capacity.memory = 1_MiB;
    t.start(2);
    CHECK(t.how("r0").kind == error_class::config);
    CHECK(t.how("r1").kind == error_class::config);
    CHECK(t.watch->ended);
}

TEST_CASE("Ctrl-C asks each run that is under way, and those that wait never start") {
    tree t;
    t.max_runs = 2;
    t.start(4);
    REQUIRE_FALSE(t.sandboxes->of("r0")->heard().empty());
    caf::anon_send(t.sweep, cancel_sweep{"Ctrl-C"});
    t.settle();
    CHECK(t.sandboxes->of("r0")->heard().find("Cancel") != std::string::npos);
    CHECK(t.how("r2") == outcome::cancelled("Ctrl-C"));
    CHECK(t.how("r3") == outcome::cancelled("Ctrl-C"));
    t.say("r0", 1, run_cancelled{"Ctrl-C"});
    t.die("r0", {});
    CHECK(t.how("r0") == outcome::cancelled("Ctrl-C"));
    // The other does not listen: it is killed within five seconds.
    CHECK_FALSE(t.sandboxes->of("r1")->killed);
    t.pass(3s);
    CHECK(t.sandboxes->of("r1")->killed);
    t.die("r1");
    CHECK(t.how("r1") == outcome::cancelled("Ctrl-C"));
    CHECK(t.transcript("r1")["outcome"]["status"] == "cancelled");
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->cancelled == 4);
}

TEST_CASE("a sandbox that survives even its kill does not keep chalk from ending within five seconds") {
    tree t;
    t.start(1);
    caf::anon_send(t.sweep, cancel_sweep{"Ctrl-C"});
    t.settle();
    t.pass(3s);
    t.pass(1500ms);
    REQUIRE(t.watch->ended);
    CHECK(t.how("r0").status == outcome_status::cancelled);
    CHECK_FALSE(t.watch->results.at("r0").remark.empty());
}

TEST_CASE("the second Ctrl-C kills every sandbox at once") {
    tree t;
    t.start(3);
    caf::anon_send(t.sweep, cancel_sweep{"Ctrl-C"});
    caf::anon_send(t.sweep, kill_sweep{"Ctrl-C twice"});
    t.settle();
    for (const char* id : {"r0", "r1", "r2"}) {
        CHECK(t.sandboxes->of(id)->killed);
        t.die(id);
    }
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->cancelled == 3);
}

TEST_CASE("a run actor that crashes ends that run alone, its sandbox goes and its transcript is written") {
    tree t;
    t.watch->explode_on = "r0";
    t.start(2);
    t.say("r0", 1, log_line{log_level::info, "chalk", "boom"});
    CHECK(t.how("r0").kind == error_class::harness);
    CHECK(t.how("r0").message.find("exploded") != std::string::npos);
    CHECK(t.transcript("r0")["outcome"]["error"]["class"] == "harness");
    CHECK(t.sandboxes->of("r0")->killed);
    CHECK(t.sandboxes->of("r0")->destroyed);
    CHECK_FALSE(t.sandboxes->of("r1")->killed);
    t.pass_run("r1");
    CHECK(t.how("r1") == outcome::passed());
    CHECK(t.watch->ended);
}

TEST_CASE("a harness that never says a word is killed at its deadline, as a timeout") {
    tree t;
    t.start(1);
    t.pass(run_deadlines{}.first_event);
    CHECK(t.sandboxes->of("r0")->killed);
    t.die("r0");
    CHECK(t.how("r0").kind == error_class::timeout);
}

TEST_CASE("an event out of order is an error of class harness") {
    tree t;
    t.start(1);
    t.say("r0", 1, log_line{});
    t.say("r0", 3, log_line{});
    CHECK(t.sandboxes->of("r0")->killed);
    t.die("r0");
    CHECK(t.how("r0").kind == error_class::harness);
    CHECK(t.how("r0").message.find("event 3") != std::string::npos);
}

TEST_CASE("a run whose transcript cannot be written is an error of class harness, without its judge's score") {
    tree t;
    t.start(2);
    std::filesystem::create_directories(t.folder.path() / "out" / "r0.json" / "in the way");
    for (const auto* id : {"r0", "r1"}) {
        t.say(id, 1, task_started{.task = "t", .agent = "a", .model = "m", .tools = {}, .step_count = 1});
        t.say(id, 2, step_started{0, "only", "do it"});
        t.say(id, 3, step_scored{.step = 0, .score = 0.75, .explanation = {}, .metadata = {}});
        t.say(id, 4, task_completed{outcome_status::passed});
        t.die(id, {});
    }
    CHECK(t.how("r0").kind == error_class::harness);
    CHECK_FALSE(t.watch->results.at("r0").has_transcript);
    CHECK_FALSE(t.watch->results.at("r0").score);
    CHECK(t.watch->results.at("r1").score == 0.75);
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->scored == 1);
}

TEST_CASE("an older transcript is gone when the run begins") {
    tree t;
    std::filesystem::create_directories(t.folder.path() / "out");
    std::ofstream(t.folder.path() / "out" / "r0.json") << "old";
    t.start(1);
    CHECK_FALSE(std::filesystem::exists(t.folder.path() / "out" / "r0.json"));
    t.pass_run("r0");
    CHECK(t.transcript("r0")["outcome"]["status"] == "passed");
}

TEST_CASE("prepare-only says when the sandbox is ready, writes nothing and ends when asked") {
    tree t;
    t.prepare_only = true;
    t.start(1);
    t.sandboxes->of("r0")->say(R"({"type":"Prepared"})");
    t.settle();
    CHECK(t.watch->prepared == std::vector<std::string>{"r0"});
    caf::anon_send(t.sweep, cancel_sweep{"Ctrl-C"});
    t.settle();
    t.say("r0", 1, run_cancelled{"Ctrl-C"});
    t.die("r0", {});
    CHECK(t.how("r0").status == outcome_status::cancelled);
    CHECK_FALSE(std::filesystem::exists(t.folder.path() / "out"));
}

TEST_CASE("a harness of this process runs on the same code path") {
    tree t;
    t.sandboxed = false;
    t.crashing_harnesses = {"r1"};
    t.start(50);
    REQUIRE(t.watch->ended);
    CHECK(t.watch->ended->passed == 49);
    CHECK(t.how("r1").kind == error_class::harness);
    CHECK(t.transcript("r0")["events"].size() == 2);
    CHECK(t.sandboxes->asked().empty());
}

TEST_CASE("a busy harness is read on as the run works its events off") {
    tree t;
    t.start(1);
    const auto sandbox = t.sandboxes->of("r0");
    for (std::uint64_t seq = 1; seq <= 3000; ++seq) {
        sandbox->say(to_line({seq, {}, log_line{log_level::info, "chalk", "x"}}));
        if (seq % 100 == 0) {
            t.settle();
        }
    }
    t.say("r0", 3001, task_completed{outcome_status::failed});
    t.die("r0", {});
    CHECK(t.how("r0") == outcome::failed());
    CHECK(t.transcript("r0")["events"].size() == 3001);
}

TEST_CASE("a sweep of no runs ends at once") {
    tree t;
    t.start(0);
    CHECK(t.watch->ended);
}

TEST_CASE("a run's websocket has every event from the host's own first one on, and its file goes with the run") {
    tree t;
    t.websocket_port = 0; // any free one
    t.host_note = "the host says this before the harness exists";
    t.start(1);
    t.say("r0", 1, log_line{log_level::info, "chalk", "the harness says this"});
    const auto access = t.folder.path() / "out" / "r0_websocket.json";
    std::ifstream in(access);
    const json how = json::parse(in);
    CHECK((std::filesystem::status(access).permissions() & std::filesystem::perms::all) ==
          (std::filesystem::perms::owner_read | std::filesystem::perms::owner_write));
    const auto url = how["url"].get<std::string>();
    const auto colon = url.rfind(':');
    const unique_fd client(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(std::stoi(url.substr(colon + 1))));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0);
    const std::string request =
        "GET /events?from=1 HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nAuthorization: Bearer " +
        how["token"].get<std::string>() + "\r\n\r\n";
    REQUIRE(::send(client.get(), request.data(), request.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(request.size()));
    t.settle();
    std::string heard(65536, '\0');
    const ssize_t n = ::recv(client.get(), heard.data(), heard.size(), MSG_DONTWAIT);
    REQUIRE(n > 0);
    heard.resize(static_cast<std::size_t>(n));
    const auto first = heard.find(t.host_note);
    const auto second = heard.find("the harness says this");
    REQUIRE(first != std::string::npos);
    REQUIRE(second != std::string::npos);
    CHECK(first < second);
    t.say("r0", 2, task_completed{outcome_status::passed});
    t.die("r0", {});
    CHECK(t.how("r0") == outcome::passed());
    CHECK_FALSE(std::filesystem::exists(access));
}

namespace {

/// A tree whose runs have sockets to a gateway that replays an empty folder; its actors are at hand.
struct tree_with_models : tree {
    tree_with_models() {
        gateway::gateway_settings replaying;
        replaying.replay = folder.path();
        models = gateway_site{
            replaying, folder.path() / "s",
            [this](caf::local_actor* owner, boost::asio::io_context& on, const gateway::gateway_settings& how) {
                auto made = spawn_gateway(owner, on, how);
                gateways.push_back(made.address());
                return made;
            }};
    }

    /// Asks as a harness does; returns what comes back, up to the connection's end.
    [[nodiscard]] std::string ask(const char* model) {
        boost::asio::local::stream_protocol::socket client(io);
        boost::system::error_code failed;
        client.connect({(folder.path() / "s/1/model.sock").string()}, failed);
        if (failed) {
            return failed.message();
        }
        const std::string body = fmt::format(R"({{"model":"{}"}})", model);
        const auto request = fmt::format("POST /v1/responses HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
                                         "Content-Length: {}\r\n\r\n{}",
                                         body.size(), body);
        boost::asio::write(client, boost::asio::buffer(request));
        std::string answer;
        client.non_blocking(true);
        for (bool open = true; open;) {
            settle();
            std::array<char, 4096> piece{};
            const auto n = client.read_some(boost::asio::buffer(piece), failed);
            answer.append(piece.data(), n);
            open = !failed || (failed == boost::asio::error::would_block && answer.empty());
        }
        return answer;
    }

    std::vector<caf::actor_addr> gateways;
};

} // namespace

TEST_CASE("a run with a model has a socket, is told where, and its account is in the transcript") {
    tree_with_models t;
    t.start(1);
    CHECK(t.sandboxes->of("r0")->heard().find(R"("model_socket":"/run/chalk/gateway/model.sock")") !=
          std::string::npos);
    CHECK(t.ask("other").find("model_not_allowed") != std::string::npos);
    CHECK(t.ask("m").find("no_recording") != std::string::npos);
    t.pass_run("r0");
    CHECK(t.how("r0") == outcome::passed());
    const auto document = t.transcript("r0");
    CHECK(document["gateway"]["refused"] == 1);
    CHECK(document["events"][1]["source"] == "gateway");
    CHECK(check_transcript(document));
    CHECK_FALSE(std::filesystem::exists(t.folder.path() / "s/1"));
}

TEST_CASE("a gateway that dies takes no run with it, and the next one serves the same socket") {
    tree_with_models t;
    t.start(1);
    REQUIRE(t.gateways.size() == 1);
    caf::anon_send_exit(caf::actor_cast<caf::actor>(t.gateways.front()), caf::exit_reason::kill);
    t.settle();
    REQUIRE(t.gateways.size() == 2);
    CHECK(t.watch->results.empty());
    CHECK(t.ask("other").find("model_not_allowed") != std::string::npos);
    t.pass_run("r0");
    CHECK(t.how("r0") == outcome::passed());
}

TEST_CASE("a run whose gateway cannot serve ends in an error, with the reason") {
    tree_with_models t;
    t.models->settings.replay = "/no/such/folder";
    t.start(1);
    CHECK(t.how("r0").kind == error_class::config); // the folder is the user's to name
    CHECK(t.how("r0").message.find("/no/such/folder") != std::string::npos);
    t.models.reset();
}

TEST_CASE("a run without a model has no socket and starts no gateway") {
    tree t;
    t.start(1);
    CHECK(t.sandboxes->of("r0")->heard().find(R"("model_socket":null)") != std::string::npos);
    t.pass_run("r0");
    CHECK_FALSE(t.transcript("r0").contains("gateway"));
}

namespace {

/// A tree whose runs have a backend that nobody is at.
struct tree_with_backend : tree {
    tree_with_backend() { backend = {{"http://127.0.0.1:1/", "token", {}}, {"id", "r0", 1}, folder.path() / "spool"}; }
    [[nodiscard]] std::filesystem::path spool() const {
        return backend::spool_path(backend->spool_folder, backend->of);
    }
};

backend_sink::behavior_type crashing_sink(backend_sink::pointer, const backend_client&) {
    return {[](const events_recorded&) { throw std::runtime_error("the sink exploded"); }, [](const sender_said&) {},
            [](const sender_settled&) {}, [](const spool_failed&) {}, [](const spool_removed&) {}};
}

} // namespace

TEST_CASE("a backend that is away holds a run up for its moment alone; the transcript does not wait even that") {
    tree_with_backend t;
    t.start(1);
    t.pass_run("r0");
    CHECK(t.watch->results.empty());
    CHECK(t.transcript("r0")["outcome"]["status"] == "passed");
    t.pass(5s);
    CHECK(t.how("r0") == outcome::passed());
    CHECK(t.watch->results.at("r0").remark.find(t.spool().string()) != std::string::npos);
    const auto left = backend::take_spool(t.spool()).value();
    REQUIRE(left);
    CHECK(left->events.size() == t.transcript("r0")["events"].size());
}

TEST_CASE("a backend sink that crashes harms no run: its log says so") {
    tree_with_backend t;
    t.spawn_sink = [](caf::local_actor* owner, const backend_sink_options&, backend_client client) {
        return owner->system().spawn(crashing_sink, std::move(client));
    };
    t.start(1);
    t.pass_run("r0");
    CHECK(t.how("r0") == outcome::passed());
    CHECK(t.watch->results.at("r0").has_transcript);
    CHECK(t.transcript("r0").dump().find("the backend sink died") != std::string::npos);
}

TEST_CASE("a sandbox that is only prepared sends its backend nothing") {
    tree_with_backend t;
    t.prepare_only = true;
    t.start(1);
    caf::anon_send(t.sweep, cancel_sweep{"Ctrl-C"});
    t.settle();
    t.say("r0", 1, run_cancelled{"Ctrl-C"});
    t.die("r0", {});
    CHECK(t.how("r0") == outcome::cancelled("Ctrl-C"));
    CHECK_FALSE(std::filesystem::exists(t.spool()));
}
