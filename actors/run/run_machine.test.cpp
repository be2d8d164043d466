#include "actors/run/run_machine.hpp"

#include "tests/support/catch.hpp"

#include <random>

using namespace chalk;
using namespace chalk::actors;

namespace {

const result<void> fine{};
const result<std::optional<std::filesystem::path>> clean{std::optional<std::filesystem::path>{}};
const harness_end killed{"killed by signal 9 (SIGKILL)", false, {}};

/// Drives a machine and keeps what it asked for.
struct driver {
    run_machine machine;
    run_commands last;
    std::vector<run_do::report> reports;
    std::vector<event_body> appended;
    int records = 0;
    int removes = 0;
    int kills = 0;

    explicit driver(run_mode mode = {}) : machine(mode, {}) {}

    driver& operator<<(run_commands commands) {
        last = std::move(commands);
        for (const auto& c : last) {
            if (const auto* r = std::get_if<run_do::report>(&c)) {
                reports.push_back(*r);
            } else if (const auto* a = std::get_if<run_do::append>(&c)) {
                appended.push_back(a->body);
            }
            records += std::holds_alternative<run_do::record>(c) ? 1 : 0;
            removes += std::holds_alternative<run_do::remove>(c) ? 1 : 0;
            kills += std::holds_alternative<run_do::kill>(c) ? 1 : 0;
        }
        return *this;
    }
    template<class Command>
    [[nodiscard]] bool asked() const {
        for (const auto& c : last) {
            if (std::holds_alternative<Command>(c)) {
                return true;
            }
        }
        return false;
    }
    driver& to_running() {
        return *this << machine.begin() << machine.prepared(fine) << machine.started(fine)
                     << machine.event_added(std::nullopt);
    }
    driver& clean_up() { return *this << machine.removed(clean) << machine.recorded(fine); }
    [[nodiscard]] outcome only_outcome() const {
        REQUIRE(reports.size() == 1);
        return reports.front().result;
    }
};

} // namespace

TEST_CASE("a run that goes well is prepared, started, recorded, removed and reported as its final event says") {
    driver d;
    d << d.machine.begin();
    CHECK(d.asked<run_do::prepare>());
    d << d.machine.prepared(fine);
    CHECK(d.asked<run_do::start>());
    d << d.machine.started(fine);
    CHECK(d.machine.takes_events());
    d << d.machine.event_added(std::nullopt);
    d << d.machine.event_added(outcome::passed());
    CHECK(d.asked<run_do::record>());
    CHECK_FALSE(d.machine.takes_events());
    d << d.machine.recorded(fine);
    CHECK(d.reports.empty());
    d << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended({"exit code 0", false, {}});
    CHECK(d.asked<run_do::remove>());
    d << d.machine.removed(clean);
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.appended.empty());
    CHECK(d.kills == 0);
}

TEST_CASE("an outcome is reported only when its transcript is on disk") {
    driver d;
    d.to_running() << d.machine.event_added(outcome::failed()) << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended(killed) << d.machine.removed(clean);
    CHECK(d.reports.empty());
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::failed());
}

TEST_CASE("a transcript that cannot be written makes the run an error") {
    driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                   << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean)
                   << d.machine.recorded(harness_failure("no space left"));
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "no space left"));
}

TEST_CASE("a run that cannot begin ends as the failure says, with a transcript") {
    driver d;
    d << d.machine.refuse(config_failure("port 9000 is taken")) << d.machine.begin();
    CHECK(d.records == 1);
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::error(error_class::config, "port 9000 is taken"));
}

TEST_CASE("each part of a harness's work has its own deadline, and what it says does not prolong it") {
    run_deadlines deadlines;
    deadlines.setup = milliseconds(100);
    deadlines.agent = milliseconds(200);
    deadlines.score = milliseconds(300);
    const auto asked = [](const run_commands& commands) -> std::optional<milliseconds> {
        for (const auto& c : commands) {
            if (const auto* d = std::get_if<run_do::set_deadline>(&c)) {
                return d->after;
            }
        }
        return std::nullopt;
    };
    run_machine m({}, deadlines);
    static_cast<void>(m.begin());
    static_cast<void>(m.prepared(fine));
    CHECK(asked(m.started(fine)) == milliseconds(100));
    CHECK(m.event_added(std::nullopt).empty());
    CHECK(asked(m.event_added(std::nullopt, run_phase::agent)) == milliseconds(200));
    CHECK(m.event_added(std::nullopt).empty());
    CHECK(asked(m.event_added(std::nullopt, run_phase::score)) == milliseconds(300));
    static_cast<void>(m.deadline_passed());
    static_cast<void>(m.channel_ended(std::nullopt));
    const auto end = m.harness_ended(killed);
    const auto* last = std::get_if<run_do::append>(&end.front());
    REQUIRE(last != nullptr);
    CHECK(std::get<run_failed>(last->body).kind == error_class::timeout);
    CHECK(std::get<run_failed>(last->body).message.find("scoring a step") != std::string::npos);
}

TEST_CASE("a part without a deadline of its own is held by the run's") {
    driver d;
    d.to_running();
    CHECK(d.asked<run_do::clear_deadline>());
    CHECK_FALSE(d.asked<run_do::set_deadline>());
}

TEST_CASE("a run that is cut off ends as its failure says, wherever it is") {
    const auto sealed = timeout_failure("the sweep is sealed");
    SECTION("before it runs") {
        driver d;
        d << d.machine.begin() << d.machine.cut_off(sealed) << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("while it runs") {
        driver d;
        d.to_running() << d.machine.cut_off(sealed);
        CHECK(d.kills == 1);
        d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome() == outcome::error(error_class::timeout, "the sweep is sealed"));
    }
    SECTION("after its outcome") {
        driver d;
        d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.cut_off(sealed);
        CHECK(d.last.empty());
    }
}

TEST_CASE("a failed preparation ends the run with the failure's own class, and nothing is removed") {
    driver d;
    d << d.machine.begin() << d.machine.prepared(failure{error_class::image, "no such file"});
    CHECK(d.appended.size() == 1);
    d << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::error(error_class::image, "no such file"));
    CHECK(d.removes == 0);
}

TEST_CASE("a sandbox that cannot start ends the run as the failure says") {
    driver d;
    d << d.machine.begin() << d.machine.prepared(fine) << d.machine.started(sandbox_failure("no memory cgroup"))
      << d.machine.recorded(fine);
    CHECK(d.only_outcome().kind == error_class::sandbox);
}

TEST_CASE("a harness that dies without a final event is an error of class harness, with its last words") {
    driver d;
    d.to_running() << d.machine.harness_ended({"exit code 70", false, "terminate called"});
    CHECK(d.reports.empty()); // what it said last is still in the socket
    d << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::harness);
    CHECK(d.only_outcome().message.find("terminate called") != std::string::npos);
    REQUIRE(d.appended.size() == 1);
    CHECK(std::get<run_failed>(d.appended.front()).kind == error_class::harness);
}

TEST_CASE("a final event that was still in the socket when the sandbox died counts") {
    driver d;
    d.to_running() << d.machine.harness_ended(killed) << d.machine.event_added(outcome::passed())
                   << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a harness that the kernel killed for memory is an error of class sandbox that says so") {
    driver d;
    d.to_running() << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended({"killed by signal 9 (SIGKILL)", true, {}});
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::sandbox);
    CHECK(d.only_outcome().message.find("memory") != std::string::npos);
}

TEST_CASE("a broken channel kills the sandbox and is an error of class harness") {
    driver d;
    d.to_running() << d.machine.channel_ended(harness_failure("line 3 is no JSON"));
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "line 3 is no JSON"));
}

TEST_CASE("a harness whose events make no sense is killed, and that is the outcome") {
    driver d(run_mode{.has_channel = false, .prepare_only = false});
    d.to_running() << d.machine.harness_misbehaved(harness_failure("event 7 after event 3"))
                   << d.machine.harness_misbehaved(harness_failure("and again"));
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::error(error_class::harness, "event 7 after event 3"));
}

TEST_CASE("a channel that ends while the harness lives on is waited for and then killed") {
    driver d;
    d.to_running() << d.machine.channel_ended(std::nullopt);
    CHECK(d.kills == 0);
    d << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome().kind == error_class::harness);
}

TEST_CASE("each wait has a deadline, and passing it is an error of class timeout") {
    SECTION("prepare") {
        driver d;
        d << d.machine.begin() << d.machine.deadline_passed() << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
        d << d.machine.prepared(fine);
        CHECK(d.last.empty());
    }
    SECTION("start") {
        driver d;
        d << d.machine.begin() << d.machine.prepared(fine) << d.machine.deadline_passed() << d.machine.recorded(fine);
        CHECK(d.only_outcome().kind == error_class::timeout);
        d << d.machine.started(fine); // its sandbox is dropped, which kills and removes it
        CHECK(d.last.empty());
    }
    SECTION("first event") {
        driver d;
        d << d.machine.begin() << d.machine.prepared(fine) << d.machine.started(fine) << d.machine.deadline_passed();
        CHECK(d.kills == 1);
        d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("whole run") {
        driver d;
        d.to_running() << d.machine.deadline_passed(deadline_kind::whole) << d.machine.harness_ended(killed)
                       << d.machine.channel_ended(std::nullopt);
        d.clean_up();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
    SECTION("recording") {
        driver d;
        d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                       << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean)
                       << d.machine.deadline_passed();
        CHECK(d.only_outcome().kind == error_class::timeout);
    }
}

TEST_CASE("a harness that lingers after its final event is killed, and the outcome stands") {
    driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.recorded(fine)
                   << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt) << d.machine.removed(clean);
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a sandbox that survives its kill does not hold up the report") {
    driver d;
    d.to_running() << d.machine.kill("second Ctrl-C") << d.machine.deadline_passed();
    CHECK(d.removes == 1);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("second Ctrl-C"));
    CHECK(d.reports.front().remark.find("did not end") != std::string::npos);
}

TEST_CASE("a cancelled run is asked, then killed, and ends as cancelled") {
    driver d;
    d.to_running() << d.machine.cancel("Ctrl-C");
    CHECK(d.asked<run_do::cancel>());
    CHECK(d.kills == 0);
    d << d.machine.cancel("again");
    CHECK(d.last.empty());
    d << d.machine.deadline_passed();
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}

TEST_CASE("a harness that cancels in order says so itself") {
    driver d;
    d.to_running() << d.machine.cancel("Ctrl-C") << d.machine.event_added(outcome::cancelled("Ctrl-C"))
                   << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended({"exit code 0", false, {}});
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
    CHECK(d.appended.empty());
}

TEST_CASE("a run that is cancelled before it began never starts") {
    driver d;
    d << d.machine.cancel("Ctrl-C") << d.machine.recorded(fine);
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
    d << d.machine.begin();
    CHECK(d.last.empty());
}

TEST_CASE("a run that is cancelled while its sandbox starts kills it as soon as there is one") {
    driver d;
    d << d.machine.begin() << d.machine.prepared(fine) << d.machine.cancel("Ctrl-C") << d.machine.started(fine);
    CHECK(d.kills == 1);
    d << d.machine.harness_ended(killed) << d.machine.channel_ended(std::nullopt);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}

TEST_CASE("a cancel after the final event changes nothing") {
    driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.cancel("Ctrl-C");
    CHECK(d.last.empty());
    d << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("prepare-only announces once, writes no transcript, and ends when it is cancelled") {
    driver d(run_mode{.has_channel = true, .prepare_only = true});
    d.to_running() << d.machine.harness_prepared();
    CHECK(d.asked<run_do::announce_prepared>());
    d << d.machine.harness_prepared();
    CHECK(d.last.empty());
    d << d.machine.cancel("Ctrl-C") << d.machine.event_added(outcome::cancelled("Ctrl-C"))
      << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed) << d.machine.removed(clean);
    CHECK(d.records == 0);
    CHECK(d.only_outcome() == outcome::cancelled("Ctrl-C"));
}

namespace {

/// Passed, gone, recorded: nothing is open but the backend.
driver with_backend() {
    driver d(run_mode{.has_channel = true, .prepare_only = false, .undelivered = "left in /spool"});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.channel_ended(std::nullopt)
                   << d.machine.harness_ended(killed);
    d.clean_up();
    return d;
}

} // namespace

TEST_CASE("a backend gets a moment to take the last events, and a run whose backend has all ends at once") {
    auto d = with_backend();
    CHECK(d.reports.empty());
    CHECK(d.asked<run_do::set_deadline>());
    d << d.machine.delivered({});
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark.empty());
}

TEST_CASE("a backend that was quick is not waited for") {
    driver d(run_mode{.has_channel = true, .prepare_only = false, .undelivered = "left"});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.delivered({})
                   << d.machine.channel_ended(std::nullopt) << d.machine.harness_ended(killed);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("a backend that takes too long changes no outcome: a remark says where the events are") {
    auto d = with_backend();
    d << d.machine.deadline_passed();
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark == "left in /spool");
    d << d.machine.delivered("late");
    CHECK(d.reports.size() == 1);
}

TEST_CASE("a kill does not wait for a backend") {
    auto d = with_backend();
    d << d.machine.kill("Ctrl-C twice");
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark == "left in /spool");
}

TEST_CASE("a harness in this process needs no channel to end") {
    driver d(run_mode{.has_channel = false, .prepare_only = false});
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended({"normal", false, {}});
    CHECK(d.removes == 1);
    d.clean_up();
    CHECK(d.only_outcome() == outcome::passed());
}

TEST_CASE("kept files and leftovers are remarks, not outcomes") {
    driver d;
    d.to_running() << d.machine.event_added(outcome::passed()) << d.machine.harness_ended(killed)
                   << d.machine.channel_ended(std::nullopt) << d.machine.recorded(fine)
                   << d.machine.removed(std::optional<std::filesystem::path>("/kept"));
    CHECK(d.only_outcome() == outcome::passed());
    CHECK(d.reports.front().remark.find("/kept") != std::string::npos);
}

TEST_CASE("whatever facts come in whatever order, a run reports once, records at most once, removes at most once") {
    std::mt19937 random(7);
    for (int round = 0; round < 20'000; ++round) {
        driver d(run_mode{.has_channel = random() % 2 == 0,
                          .prepare_only = random() % 5 == 0,
                          .undelivered = random() % 3 == 0 ? "left" : ""});
        auto& m = d.machine;
        for (int step = 0; step < 40; ++step) {
            switch (random() % 15) {
            case 0:
                d << m.begin();
                break;
            case 1:
                d << m.prepared(fine);
                break;
            case 2:
                d << m.started(fine);
                break;
            case 3:
                d << m.event_added(std::nullopt);
                break;
            case 4:
                d << m.event_added(outcome::passed());
                break;
            case 5:
                d << m.channel_ended(std::nullopt);
                break;
            case 6:
                d << m.channel_ended(harness_failure("broken"));
                break;
            case 7:
                d << m.harness_ended(killed);
                break;
            case 8:
                random() % 4 == 0 ? d << m.cancel("c") : d;
                break;
            case 9:
                random() % 4 == 0 ? d << m.kill("k") : d;
                break;
            case 10:
                d << m.removed(clean);
                break;
            case 11:
                d << m.recorded(fine);
                break;
            case 12:
                d << m.harness_prepared();
                break;
            case 13:
                d << m.delivered({});
                break;
            default:
                d << (random() % 4 == 0 ? m.deadline_passed() : run_commands{});
                break;
            }
        }
        // However it stands, deadlines alone lead to the end.
        d << m.begin();
        for (int step = 0; step < 12; ++step) {
            d << m.deadline_passed();
        }
        REQUIRE(d.reports.size() == 1);
        REQUIRE(d.records <= 1);
        REQUIRE(d.removes <= 1);
        REQUIRE(d.appended.size() <= 1);
        REQUIRE(m.where() == run_machine::stage::ended);
    }
}
