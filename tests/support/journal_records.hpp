/// Records of a small sweep, for tests of the journal and of what reads it.
#pragma once

#include "protocol/journal/records.hpp"

#include <fmt/format.h>

#include <string>

namespace chalk::test {

inline constexpr wall_time some_day = wall_time(std::chrono::seconds(1'800'000'000));

inline journal::sweep_opened a_sweep(std::uint64_t cells, std::uint64_t repeats) {
    journal::sweep_opened opened;
    opened.at = some_day;
    opened.name = "a sweep";
    opened.seed = 0xffff'ffff'ffff'fff0U; // above what SQLite calls an integer
    opened.file_text = "name = \"a sweep\"\n";
    opened.file_digest = "sha256:00";
    opened.document = R"({"base":{"model":"openai/x"},"name":"a sweep"})";
    opened.repeats = repeats;
    opened.cells = cells;
    opened.total_runs = cells * repeats;
    return opened;
}

inline journal::cell_described a_cell(std::uint64_t number) {
    return {journal::cell_number{number},
            fmt::format("{:016x}", number),
            fmt::format("task={}", number),
            fmt::format(R"({{"task":"{}"}})", number),
            "sha256:01",
            "sha256:02",
            ""};
}

inline journal::attempt_started a_start(std::uint64_t run, std::uint64_t repeats, std::uint32_t attempt = 1) {
    journal::attempt_started started;
    started.run = journal::run_number{run};
    started.cell = journal::cell_number{run / repeats};
    started.repeat = run % repeats;
    started.id = *run_id::parse(fmt::format("run-{}", run));
    started.attempt = attempt_number{attempt};
    started.node = "box";
    started.at = some_day + seconds(attempt);
    started.seed = run;
    return started;
}

inline journal::attempt_ended an_end(std::uint64_t run, outcome how, std::optional<double> score,
                                     journal::verdict means = journal::verdict::counts, std::uint32_t attempt = 1) {
    journal::attempt_ended ended;
    ended.run = journal::run_number{run};
    ended.attempt = attempt_number{attempt};
    ended.at = some_day + seconds(60 + attempt);
    ended.how = std::move(how);
    ended.score = score;
    ended.means = means;
    return ended;
}

} // namespace chalk::test
