#include "runtimes/namespaces/confinement_note.hpp"

#include <fmt/format.h>

#include <cstring>

namespace chalk::namespaces {

std::string confinement_note(bool privileged, const std::string& cgroups, const sandbox_request& request) {
    const auto disk = request.keep ? fmt::format("disk watched, since what it holds is kept ({} MiB)",
                                                 request.limits.student_disk.count >> 20U)
                                   : std::string("disk by tmpfs");
    return fmt::format("namespaces on the host's kernel ({}), no network but loopback, system call filter, {}, {}",
                       privileged ? "started by root" : "started without root", cgroups, disk);
}

void describe_firewall(firewall::policy wanted, int error, host_channel::student_description& student) {
    wanted.student = student.uid;
    if (error != 0) {
        student.confinement_note += fmt::format(", no student firewall (nftables: {})", std::strerror(error));
        return;
    }
    student.firewall = {host_channel::student_firewall::state::applied, wanted.closed_ports,
                        wanted.reach == firewall::network_reach::internal};
    student.confinement_note += fmt::format(", student firewall by nftables: {}", firewall::describe(wanted));
}

} // namespace chalk::namespaces
