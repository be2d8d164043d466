/// Which runs a person may have run once more: those that have their outcome. Pure.
#pragma once

#include "actors/sweep/schedule.hpp"
#include "protocol/core/result.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace chalk::actors {

/// What the journal has of a run that was asked for by name.
struct found_run {
    std::string id;
    std::optional<journal::run_row> row; ///< absent: no run of this name was started
};

/// A run as schedule::requeue takes it back.
struct requeued_run {
    journal::run_number number{0};
    run_key run;
    std::uint32_t last_attempt = 0;
    std::optional<outcome> how; ///< that was counted
    std::optional<double> score;
};

/// All of them, or none: error_class::config with the first that was not started or has no outcome. `repeats` is the
/// sweep's.
[[nodiscard]] result<std::vector<requeued_run>> runs_to_requeue(const std::vector<found_run>& found,
                                                                std::uint64_t repeats);

} // namespace chalk::actors
