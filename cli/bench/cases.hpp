/// The questions of `chalk bench harness`, each with its floor where it has one.
#pragma once

#include "protocol/core/result.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::cli::bench {

struct case_options {
    std::size_t count = 400;
    std::size_t concurrency = 8;
    std::size_t waiting = 2000;
    std::filesystem::path folder; ///< for what the runs write
};

struct figure {
    const char* key; ///< in --json
    double value = 0;
    const char* unit;
};

struct answer {
    std::string question;
    std::vector<figure> figures; ///< with a floor the first is a rate a second
    double floor_per_s = 0;      ///< 0: no floor
    std::size_t errors = 0;      ///< runs that ended in one

    [[nodiscard]] double times_floor() const { return floor_per_s / figures.front().value; }
};

struct bench_case {
    std::string_view name;
    std::function<result<answer>(const case_options&)> ask;
};

[[nodiscard]] const std::vector<bench_case>& cases();

} // namespace chalk::cli::bench
