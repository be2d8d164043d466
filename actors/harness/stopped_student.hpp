/// What a run's log says when what the student left running was killed.
#pragma once

#include "protocol/event/event.hpp"
#include "runtimes/confinement/student_commands.hpp"

#include <optional>

namespace chalk::actors {

/// nullopt: nothing ran.
[[nodiscard]] inline std::optional<log_line> line_of(confinement::kill_report report) {
    if (report.survived) {
        return log_line{log_level::warning, "chalk",
                        "a process of the student cannot be killed; the step is judged all the same"};
    }
    if (report.found) {
        return log_line{log_level::info, "chalk", "what the student left running was killed at the step's end"};
    }
    return std::nullopt;
}

} // namespace chalk::actors
