#include "actors/cluster/result_fence.hpp"

#include <fmt/format.h>

namespace chalk::actors {

result<result_fence> result_fence::open(std::uint64_t epoch, const std::vector<assignment_name>& open) {
    result_fence fence(epoch);
    for (const assignment_name& known : open) {
        if (known.token.epoch >= epoch) {
            return harness_failure(fmt::format(
                "the journal has an assignment of epoch {}, this coordinator is epoch {}", known.token.epoch, epoch));
        }
        if (!fence.open_.emplace(known.run, assignment{known}).second) {
            return harness_failure(fmt::format("the journal has run {} of cell {} assigned twice at once",
                                               known.run.index, known.run.cell));
        }
    }
    return fence;
}

result<assignment_name> result_fence::assign(run_key run, attempt_number attempt) {
    if (const auto found = open_.find(run); found != open_.end()) {
        return harness_failure(fmt::format("run {} of cell {} is assigned already, as attempt {}", run.index, run.cell,
                                           static_cast<std::uint32_t>(found->second.name.attempt)));
    }
    assignment_name made{run, attempt, tokens_.next()};
    open_.emplace(run, assignment{made});
    return made;
}

bool result_fence::is_open(const assignment_name& what) const {
    const auto found = open_.find(what.run);
    return found != open_.end() && found->second.name == what;
}

result_fence::assignment* result_fence::find(const assignment_name& what) {
    return is_open(what) ? &open_.at(what.run) : nullptr;
}

bool result_fence::give_up(const assignment_name& what) {
    assignment* const its = find(what);
    if (!its) {
        return false;
    }
    if (its->at != stage::open) {
        its->at = stage::given_up_meanwhile;
        return false;
    }
    open_.erase(what.run);
    return true;
}

std::optional<result_standing> result_fence::own_word(const assignment_name& what) const {
    if (const auto found = open_.find(what.run); found != open_.end() && found->second.name.token == what.token) {
        if (found->second.name != what) {
            return result_standing::foreign; // that token is of another attempt
        }
        return found->second.at == stage::open ? result_standing::counts : result_standing::under_way;
    }
    if (const auto found = taken_.find(what.token); found != taken_.end()) {
        return found->second == what ? result_standing::repeated : result_standing::foreign;
    }
    if (what.token.count == 0 || what.token > tokens_.last()) {
        return result_standing::foreign;
    }
    return std::nullopt;
}

result_standing result_fence::accept(const assignment_name& what, journalled_name has) {
    if (const auto own = own_word(what)) {
        if (*own == result_standing::counts) {
            find(what)->at = stage::journalling;
        }
        return *own;
    }
    switch (has) {
    case journalled_name::taken:
        return result_standing::repeated;
    case journalled_name::assigned:
        return result_standing::evidence;
    case journalled_name::absent:
        break;
    }
    return result_standing::foreign; // also of an earlier epoch: else a faulty node could fill the disk with evidence
}

bool result_fence::durable(const assignment_name& what) {
    const assignment* const its = find(what);
    if (!its || its->at == stage::open) {
        return false;
    }
    if (its->at == stage::journalling) { // else its node is lost: should it come back, the journal knows
        taken_.emplace(what.token, what);
    }
    open_.erase(what.run);
    return true;
}

bool result_fence::withdraw(const assignment_name& what) {
    assignment* const its = find(what);
    if (!its || its->at == stage::open) {
        return false;
    }
    if (its->at == stage::journalling) {
        its->at = stage::open;
        return false;
    }
    open_.erase(what.run);
    return true;
}

void result_fence::forget(const assignment_name& what) {
    if (const auto found = taken_.find(what.token); found != taken_.end() && found->second == what) {
        taken_.erase(found);
    }
}

} // namespace chalk::actors
