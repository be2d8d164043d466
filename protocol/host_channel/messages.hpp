/// What a host and the harness in its sandbox say to each other, one JSON object a line
/// (docs/protocols/host-channel.md). The config crosses here, so that it is never in an argv.
///
/// Plain values; `to_line` adds no line break. Parsing is strict: an unknown type, a missing field or a wrong type is
/// error_class::harness with the field named.
#pragma once

#include "protocol/event/event.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <sys/types.h>

namespace chalk::host_channel {

enum class harness_mode {
    run,
    prepare,  ///< stop before the steps, and wait to be cancelled
    describe, ///< say which tasks the environment has, and end
};

[[nodiscard]] std::string_view to_string(harness_mode mode) noexcept;

/// What keeps the student off the network: the "firewall" object of the student.
struct student_firewall {
    enum class state {
        none,    ///< no rules; confinement_note says why
        applied, ///< the runtime has set them before it started the harness
        wanted,  ///< the harness shall set them
    };
    state how = state::none;
    std::vector<std::uint16_t> closed_ports; ///< TCP, on every address
    bool internal = false;                   ///< private networks are open to the student
};

[[nodiscard]] std::string_view to_string(student_firewall::state how) noexcept;

/// The student as the host set it up: the "student" object of Start.
struct student_description {
    uid_t uid = 1000;
    gid_t gid = 1000;
    std::string home = "/workdir";
    std::vector<int> cgroup_procs;          ///< inherited descriptors of cgroup.procs files
    std::optional<int> cgroup_calls_folder; ///< inherited descriptor of the folder for a group per call
    bool cgroup_v2 = false;
    std::vector<std::string> environment; ///< "NAME=value", beyond PATH, HOME and LANG
    std::string confinement_note;         ///< which confinement is in force, for the log
    /// What the student's files may take where nothing in the sandbox holds them: the harness watches. Absent: held.
    std::optional<bytes> watched_disk;
    student_firewall firewall;
};

[[nodiscard]] json to_json(const student_description& student);
[[nodiscard]] result<student_description> parse_student(const json& value);

/// Host to harness, first message.
struct start {
    harness_mode mode = harness_mode::run;
    json config; ///< config::to_json of the run's config
    student_description student;
    /// The unix socket behind which the run's model is (docs/protocols/gateway.md), as the harness sees it; empty:
    /// none.
    std::string model_socket = {};
};

/// Host to harness: end the run in order, as cancelled.
struct cancel {
    std::string reason;
};

/// Harness to host: --prepare-only is ready.
struct prepared {};

struct described_task {
    std::string name;
    std::optional<std::string> required_hardware;
    std::size_t steps = 0;
};

/// Harness to host, in mode describe: the last message. A failure is an ErrorEvent instead.
struct described {
    std::vector<described_task> tasks;
};

using host_message = std::variant<start, cancel>;
using harness_message = std::variant<event, prepared, described>;

[[nodiscard]] std::string to_line(const start& message);
[[nodiscard]] std::string to_line(const cancel& message);
[[nodiscard]] std::string to_line(const prepared& message);
[[nodiscard]] std::string to_line(const described& message);

[[nodiscard]] result<host_message> parse_host_message(std::string_view line);
/// Event lines are those of chalk::to_line(event).
[[nodiscard]] result<harness_message> parse_harness_message(std::string_view line);

} // namespace chalk::host_channel
