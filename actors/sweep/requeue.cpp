#include "actors/sweep/requeue.hpp"

#include "actors/sweep/sweep_control.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

result<std::vector<requeued_run>> runs_to_requeue(const std::vector<found_run>& found, std::uint64_t repeats) {
    std::vector<requeued_run> all;
    for (const auto& one : found) {
        if (!one.row || one.row->attempts.empty()) {
            return config_failure(fmt::format("no run {} was started in this sweep", one.id));
        }
        const auto& row = *one.row;
        if (!row.closed) {
            return config_failure(fmt::format("run {} has no outcome yet that could be taken back", one.id));
        }
        requeued_run again;
        again.number = row.run;
        again.run = run_of(row.run, repeats);
        again.last_attempt = static_cast<std::uint32_t>(row.attempts.back().started.attempt);
        if (const auto* counted = row.counted(); counted != nullptr && counted->ended) {
            again.how = counted->ended->how;
            again.score = counted->ended->score;
        }
        all.push_back(std::move(again));
    }
    return all;
}

} // namespace chalk::actors
