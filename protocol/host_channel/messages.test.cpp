#include "protocol/host_channel/messages.hpp"

#include "tests/support/catch.hpp"

namespace channel = chalk::host_channel;
using chalk::json;

TEST_CASE("a Start message survives the wire with its config and student", "[host_channel]") {
    channel::start sent;
    sent.mode = channel::harness_mode::prepare;
    sent.config = {{"environment", "/root/environment"}, {"task", "t"}};
    sent.student.uid = 1001;
    sent.student.cgroup_procs = {4, 5};
    sent.student.cgroup_calls_folder = 6;
    sent.student.cgroup_v2 = true;
    sent.student.environment = {"A=b=c"};
    sent.student.confinement_note = "caps";
    sent.student.watched_disk = chalk::bytes{4096};
    sent.student.firewall = {channel::student_firewall::state::applied, {7000, 65535}, true};

    auto parsed = channel::parse_host_message(channel::to_line(sent));
    REQUIRE(parsed.has_value());
    const auto& got = std::get<channel::start>(*parsed);
    CHECK(got.mode == channel::harness_mode::prepare);
    CHECK(got.config == sent.config);
    CHECK(to_json(got.student) == to_json(sent.student));
    CHECK(got.student.cgroup_calls_folder == 6);
    CHECK(got.student.firewall.how == channel::student_firewall::state::applied);
    CHECK(got.student.firewall.closed_ports == std::vector<std::uint16_t>{7000, 65535});
    CHECK(got.student.firewall.internal);
}

TEST_CASE("a message that is not as the protocol says is refused by the name of its field", "[host_channel]") {
    const auto good = json::parse(channel::to_line(channel::start{channel::harness_mode::run, json::object(), {}}));
    auto why = [](const json& message) {
        auto parsed = channel::parse_host_message(message.dump());
        REQUIRE(parsed.has_error());
        CHECK(parsed.error().kind == chalk::error_class::harness);
        return parsed.error().message;
    };
    using Catch::Matchers::Contains;

    auto bad = good;
    bad["mode"] = "walk";
    CHECK_THAT(why(bad), Contains("mode"));
    bad = good;
    bad.erase("config");
    CHECK_THAT(why(bad), Contains("config: missing"));
    bad = good;
    bad["student"]["uid"] = -1;
    CHECK_THAT(why(bad), Contains("student.uid"));
    bad = good;
    bad["student"]["environment"] = {"NOEQUALS"};
    CHECK_THAT(why(bad), Contains("student.environment"));
    bad = good;
    bad["student"]["cgroup"]["procs"] = {"4"};
    CHECK_THAT(why(bad), Contains("student.cgroup.procs"));
    bad = good;
    bad["student"]["firewall"]["state"] = "maybe";
    CHECK_THAT(why(bad), Contains("student.firewall.state"));
    bad = good;
    bad["student"]["firewall"]["closed_ports"] = {65536};
    CHECK_THAT(why(bad), Contains("student.firewall.closed_ports"));
    bad = good;
    bad["type"] = "Begin";
    CHECK_THAT(why(bad), Contains("Begin"));
    CHECK(channel::parse_host_message("[]").has_error());
    CHECK(channel::parse_host_message("{").has_error());
}

TEST_CASE("what a harness sends is told apart: events, Prepared, Described", "[host_channel]") {
    chalk::event sent;
    sent.seq = 7;
    sent.body = chalk::log_line{chalk::log_level::info, "chalk", R"("type":"Prepared")"};
    auto parsed = channel::parse_harness_message(to_line(sent));
    REQUIRE(parsed.has_value());
    CHECK(std::get<chalk::event>(*parsed).seq == 7);

    parsed = channel::parse_harness_message(channel::to_line(channel::prepared{}));
    REQUIRE(parsed.has_value());
    CHECK(std::holds_alternative<channel::prepared>(*parsed));

    parsed = channel::parse_harness_message(
        channel::to_line(channel::described{{{R"(odd "seq": name)", "gpu", 2}, {"b", std::nullopt, 0}}}));
    REQUIRE(parsed.has_value());
    const auto& tasks = std::get<channel::described>(*parsed).tasks;
    REQUIRE(tasks.size() == 2);
    CHECK(tasks[0].name == R"(odd "seq": name)");
    CHECK(tasks[0].required_hardware == "gpu");
    CHECK(tasks[0].steps == 2);
    CHECK_FALSE(tasks[1].required_hardware);

    CHECK(channel::parse_harness_message(R"({"type":"Described","tasks":[{"name":"x"}]})").has_error());
    CHECK(channel::parse_harness_message(R"({"type":"Nonsense"})").has_error());
}

TEST_CASE("Cancel carries its reason", "[host_channel]") {
    auto parsed = channel::parse_host_message(channel::to_line(channel::cancel{"Ctrl-C"}));
    REQUIRE(parsed.has_value());
    CHECK(std::get<channel::cancel>(*parsed).reason == "Ctrl-C");
}
