/// Which results count: that of the assignment which is a run's present one, once. A node that was thought lost may
/// come back with what it has done; its work is kept as evidence, and the run's outcome is another's.
///
/// A run has at most one open assignment. Each has a token that is larger than all before it, over restarts too, and a
/// result names its run, attempt and token. Kept: an entry for each open assignment, and one for each result that was
/// taken until its node has let go of it. Pure.
///
/// Owner: the cluster actor. When it dies, the next one is opened from the journal.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "actors/sweep/schedule.hpp"
#include "protocol/core/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

namespace chalk::actors {

/// One attempt given to one node. Journalled with the attempt's start, before the node hears of it.
struct assignment_name {
    run_key run;
    attempt_number attempt{1};
    fencing_token token;
    friend bool operator==(const assignment_name&, const assignment_name&) = default;
};

enum class result_standing {
    counts,   ///< the run's: this once
    repeated, ///< was taken before: the node is told so again, nothing else happens
    evidence, ///< of an attempt that was given up: kept for people, never counted
    foreign   ///< names what was never assigned: refused, and the node is at fault
};

class result_fence {
  public:
    /// Whether the journal has this as an attempt that ended with a result of that token. Asked of those that the fence
    /// does not hold itself. Null: none has.
    using known_result = std::function<bool(const assignment_name&)>;

    /// `open`: what the journal has as started and not ended. error_class::harness when a token of it is not of an
    /// earlier epoch, or two of them are for one run.
    [[nodiscard]] static result<result_fence> open(std::uint64_t epoch, const std::vector<assignment_name>& open,
                                                   known_result taken_before);

    /// A token for `attempt` of `run`. error_class::harness while the run has an open assignment.
    [[nodiscard]] result<assignment_name> assign(run_key run, attempt_number attempt);
    /// The assignment counts no more: its node was lost, or gave it back. False when it was not open.
    bool give_up(const assignment_name& what);
    /// A result has come. The first one that counts closes the assignment.
    [[nodiscard]] result_standing accept(const assignment_name& what);
    /// The node does not hold the result any more, or its lease has ended: it is not expected again.
    void forget(const assignment_name& what);

    [[nodiscard]] bool is_open(const assignment_name& what) const;
    [[nodiscard]] std::size_t open_assignments() const noexcept { return open_.size(); }
    [[nodiscard]] std::size_t kept_results() const noexcept { return taken_.size(); }

  private:
    result_fence(std::uint64_t epoch, known_result taken_before)
        : tokens_(epoch), taken_before_(std::move(taken_before)) {}

    epoch_counter<struct of_assignments> tokens_;
    known_result taken_before_;
    std::map<run_key, assignment_name> open_;
    std::map<fencing_token, assignment_name> taken_;
};

} // namespace chalk::actors
