#include "runtimes/namespaces/confinement_note.hpp"

#include "tests/support/catch.hpp"

#include <cerrno>

using namespace chalk;
using namespace chalk::namespaces;
using Catch::Matchers::Contains;

TEST_CASE("the note says who started the sandbox, what the kernel limits and what holds the disk") {
    sandbox_request request;
    const auto note = confinement_note(true, "cgroup v1 (memory, pids)", request);
    CHECK_THAT(note, Contains("started by root") && Contains("cgroup v1 (memory, pids)") && Contains("disk by tmpfs"));
    request.keep = true;
    request.limits.student_disk = 1_GiB;
    CHECK_THAT(confinement_note(false, "no cgroups", request),
               Contains("started without root") && Contains("disk watched") && Contains("1024 MiB"));
}

TEST_CASE("a firewall that the kernel took is described, and one that it refused is said to be missing") {
    firewall::policy wanted;
    wanted.closed_ports = {7000};
    wanted.reach = firewall::network_reach::internal;
    host_channel::student_description student;
    student.uid = 1234;
    SECTION("taken") {
        describe_firewall(wanted, 0, student);
        CHECK(student.firewall.how == host_channel::student_firewall::state::applied);
        CHECK(student.firewall.closed_ports == wanted.closed_ports);
        CHECK(student.firewall.internal);
        CHECK_THAT(student.confinement_note, Contains("user 1234"));
    }
    SECTION("refused") {
        describe_firewall(wanted, EPROTONOSUPPORT, student);
        CHECK(student.firewall.how == host_channel::student_firewall::state::none);
        CHECK_THAT(student.confinement_note, Contains("no student firewall (nftables: "));
    }
}
