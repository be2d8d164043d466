/// Which results count: that of the assignment which is a run's present one, once. A node that was thought lost may
/// come back with what it has done; its work is kept as evidence, and the run's outcome is another's.
///
/// A run has at most one open assignment. Each has a token that is larger than all before it, over restarts too, and a
/// result names its run, attempt and token. Kept: an entry for each open assignment, and one for each result that was
/// taken until its node has let go of it. Pure.
///
/// A result that counts is on its way to the journal until durable() or withdraw(). Meanwhile its assignment stays open
/// and its node keeps it: if the journal fails or the coordinator dies, the node is the only one that has it.
///
/// Owner: the cluster actor. When it dies, the next one is opened from the journal.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "actors/sweep/schedule.hpp"
#include "protocol/core/ids.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

namespace chalk::actors {

/// One attempt given to one node. Journalled with the attempt's start, before the node hears of it.
struct assignment_name {
    run_key run;
    attempt_number attempt{1};
    fencing_token token;
    friend auto operator<=>(const assignment_name&, const assignment_name&) = default;
};

enum class result_standing {
    counts,    ///< the run's: to be journalled, this once
    under_way, ///< came before and is not durable yet: no answer now, the node keeps it and is told when it is
    repeated,  ///< is in the journal: the node is told so again and may drop it, nothing else happens
    evidence,  ///< of an attempt that was given up: kept for people, once for each name, and never counted
    foreign    ///< names what was never assigned: refused, and the node is at fault
};

/// What the journal has under exactly this run, attempt and token.
enum class journalled_name {
    absent,   ///< nothing: it was never assigned
    assigned, ///< its start, and no result of it
    taken     ///< its result
};

class result_fence {
  public:
    /// `open`: what the journal has as started and not ended. error_class::harness when a token of it is not of an
    /// earlier epoch, or two of them are for one run.
    [[nodiscard]] static result<result_fence> open(std::uint64_t epoch, const std::vector<assignment_name>& open);

    /// A token for `attempt` of `run`. error_class::harness while the run has an open assignment.
    [[nodiscard]] result<assignment_name> assign(run_key run, attempt_number attempt);
    /// The assignment counts no more: its node was lost, or gave it back. True: it was open, and the run may be given
    /// out anew. False: it was not, or its result is on its way to the journal, whose answer decides.
    [[nodiscard]] bool give_up(const assignment_name& what);

    /// Whether the journal has to be asked for this name before accept(). If not, the fence knows it by itself.
    [[nodiscard]] bool must_ask(const assignment_name& what) const { return !own_word(what); }
    /// A result has come. `has`: the journal's answer; of no account where it need not be asked.
    [[nodiscard]] result_standing accept(const assignment_name& what, journalled_name has);
    /// The result that counts is in the journal: its node may be told, and the assignment is closed. False: it was not
    /// on its way there.
    [[nodiscard]] bool durable(const assignment_name& what);
    /// The journal has surely not taken the result that counts. The assignment is open as before, and its node has to
    /// offer the result again. True: it was given up meanwhile; now the run may be given out anew.
    [[nodiscard]] bool withdraw(const assignment_name& what);
    /// The node does not hold the result any more, or its lease has ended: it is not expected again.
    void forget(const assignment_name& what);

    /// Also while its result is on its way to the journal.
    [[nodiscard]] bool is_open(const assignment_name& what) const;
    [[nodiscard]] std::size_t open_assignments() const noexcept { return open_.size(); }
    [[nodiscard]] std::size_t kept_results() const noexcept { return taken_.size(); }

  private:
    enum class stage {
        open,              ///< no result has come
        journalling,       ///< it is on its way to the journal
        given_up_meanwhile ///< likewise, and was given up: it counts if the journal takes it, and no other does
    };
    struct assignment {
        assignment_name name;
        stage at = stage::open;
    };

    explicit result_fence(std::uint64_t epoch) : tokens_(epoch) {}
    [[nodiscard]] assignment* find(const assignment_name& what);
    /// nullopt: only the journal knows.
    [[nodiscard]] std::optional<result_standing> own_word(const assignment_name& what) const;

    epoch_counter<struct of_assignments> tokens_;
    std::map<run_key, assignment> open_;
    std::map<fencing_token, assignment_name> taken_;
};

} // namespace chalk::actors
