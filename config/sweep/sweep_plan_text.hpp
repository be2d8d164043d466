/// What `chalk sweep --dry-run` says of a sweep before any machine is looked at: cells, runs, axes, filters.
#pragma once

#include "config/sweep/sweep_runs.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace chalk::config {

struct sweep_plan {
    std::string name;
    std::uint64_t combinations = 0; ///< of all axes
    std::uint64_t cells = 0;        ///< that the filters keep
    std::uint64_t repeat = 1;
    std::uint64_t runs = 0; ///< cells times repeat
    std::uint64_t seed = 0;
    struct axis {
        std::string name;
        std::uint64_t values = 0;
    };
    std::vector<axis> axes; ///< in the order of the file
    struct run {
        run_id id;
        std::string cell; ///< its label
    };
    std::vector<run> first_runs; ///< a few, in the order in which fresh work is started: all cells, then repeats
    std::string digest;
};

[[nodiscard]] sweep_plan plan_sweep(sweep_runs& runs);
[[nodiscard]] std::string sweep_plan_text(const sweep_plan& plan);
[[nodiscard]] json sweep_plan_json(const sweep_plan& plan);

} // namespace chalk::config
