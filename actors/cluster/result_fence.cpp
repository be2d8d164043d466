#include "actors/cluster/result_fence.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

result<result_fence> result_fence::open(std::uint64_t epoch, const std::vector<assignment_name>& open,
                                        known_result taken_before) {
    result_fence fence(epoch, std::move(taken_before));
    for (const assignment_name& known : open) {
        if (known.token.epoch >= epoch) {
            return harness_failure(fmt::format(
                "the journal has an assignment of epoch {}, this coordinator is epoch {}", known.token.epoch, epoch));
        }
        if (!fence.open_.emplace(known.run, known).second) {
            return harness_failure(fmt::format("the journal has run {} of cell {} assigned twice at once",
                                               known.run.index, known.run.cell));
        }
    }
    return fence;
}

result<assignment_name> result_fence::assign(run_key run, attempt_number attempt) {
    if (const auto found = open_.find(run); found != open_.end()) {
        return harness_failure(fmt::format("run {} of cell {} is assigned already, as attempt {}", run.index, run.cell,
                                           static_cast<std::uint32_t>(found->second.attempt)));
    }
    assignment_name made{run, attempt, tokens_.next()};
    open_.emplace(run, made);
    return made;
}

bool result_fence::is_open(const assignment_name& what) const {
    const auto found = open_.find(what.run);
    return found != open_.end() && found->second == what;
}

bool result_fence::give_up(const assignment_name& what) {
    const bool was_open = is_open(what);
    if (was_open) {
        open_.erase(what.run);
    }
    return was_open;
}

result_standing result_fence::accept(const assignment_name& what) {
    if (is_open(what)) {
        open_.erase(what.run);
        taken_.emplace(what.token, what);
        return result_standing::counts;
    }
    if (const auto found = taken_.find(what.token); found != taken_.end()) {
        return found->second == what ? result_standing::repeated : result_standing::foreign;
    }
    if (what.token.count == 0 || what.token > tokens_.last()) {
        return result_standing::foreign;
    }
    if (const auto found = open_.find(what.run); found != open_.end() && found->second.token == what.token) {
        return result_standing::foreign; // that token is of another attempt
    }
    return taken_before_ && taken_before_(what) ? result_standing::repeated : result_standing::evidence;
}

void result_fence::forget(const assignment_name& what) {
    if (const auto found = taken_.find(what.token); found != taken_.end() && found->second == what) {
        taken_.erase(found);
    }
}

} // namespace chalk::actors
