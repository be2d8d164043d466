/// What a coordinator decides: who is let in, who may run until when, which attempt goes to which node, which result
/// counts, and what is lost with a node. It puts together the books that know one thing each (lease_book, membership,
/// placement, result_fence, lost_runs, quarantine). Pure; time is handed in. What follows from a call and is not its
/// answer lies in take_decisions() afterwards, in the order in which it has to happen.
///
/// Owner: the cluster actor, which carries the decisions out; `chalk bench cluster` does so in virtual time.
#pragma once

#include "actors/cluster/boot_time.hpp"
#include "actors/cluster/lease_book.hpp"
#include "actors/cluster/lost_runs.hpp"
#include "actors/cluster/membership.hpp"
#include "actors/cluster/placement.hpp"
#include "actors/cluster/quarantine.hpp"
#include "actors/cluster/result_fence.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace chalk::actors {

namespace decision {

/// To be made durable; then granted() or grant_failed().
struct write_grant {
    lease what;
};
/// To be journalled before all decisions that come after it, or with them.
struct write_end {
    lease_ended what;
};
/// The lease of a new node is durable: it may be told.
struct welcome {
    lease what;
};
/// The attempt's start is to be journalled under this name; then started().
struct place {
    assignment_name name;
    node_id node;
};
/// The node is to run it. Said again when its link broke and it may not have heard.
struct send_run {
    assignment_name name;
    node_id node;
};
/// What the node has under this name counts no more: it stops it and forgets it.
struct drop_run {
    assignment_name name;
    node_id node;
};
/// Its result is durable, or counts no more: the node need not keep it.
struct release_result {
    assignment_name name;
    node_id node;
};
/// The attempt is lost with its node.
struct lose_run {
    assignment_name name;
    node_id node;
};
/// The node is in quarantine: it tries its runtimes, and says how that went (probed()).
struct probe_node {
    node_id node;
};
/// For a person.
struct say {
    std::string text;
};

} // namespace decision

using coordinator_decision =
    std::variant<decision::write_grant, decision::write_end, decision::welcome, decision::place, decision::send_run,
                 decision::drop_run, decision::release_result, decision::lose_run, decision::probe_node, decision::say>;

struct coordinator_rules {
    lease_terms terms;
    quarantine_rules quarantines;
    std::string version;     ///< this chalk's
    std::uint64_t epoch = 1; ///< how many processes have opened the journal, this one counted
    /// Runs that a node is given beyond what it has room for, as a share of that, so that it need not wait for the next
    /// one while the end of the last is on its way.
    double slack = 0.25;
};

/// An attempt that the journal has as started and not ended, on a node whose lease has not ended there either.
struct adopted_run {
    assignment_name name;
    node_id node;
    run_needs needs;
    std::uint32_t losses = 0; ///< of its run, before
};

/// A node, for a person.
struct node_view {
    node_id node;
    member_state state = member_state::lost;
    std::optional<node_offer> offer;
    std::size_t runs = 0; ///< given to it and not ended
    bool linked = false;
};

class coordinator {
  public:
    /// `leases`: those that the journal has as granted and not ended. error_class::harness: the journal contradicts
    /// itself, or another process writes it too.
    [[nodiscard]] static result<coordinator> open(coordinator_rules rules, const std::vector<lease>& leases,
                                                  const std::vector<adopted_run>& adopted, coordinator_time now);

    // Nodes.

    /// A node asks to be let in over a link that stands. `anew`: write_grant is decided, and welcome follows it.
    /// `again`: it goes on under the lease it has, which is returned by lease_of(). error_class::config: it may not
    /// come in, and nothing is changed.
    [[nodiscard]] result<membership::entry> hello(const node_id& node, node_offer offer,
                                                  std::optional<lease_number> holds, coordinator_time now);
    void granted(const lease& what, coordinator_time now);
    void grant_failed(const lease& what);
    /// error_class::node_lost: that lease has ended, and the node has to join anew.
    [[nodiscard]] result<lease> renew(const node_id& node, lease_number number, coordinator_time now);
    void gave_up(const node_id& node, lease_number number);
    void link_lost(const node_id& node);
    /// What the node has of this coordinator's, all of it: after each hello. Those that run or wait there, and those
    /// whose results it keeps.
    void node_has(const node_id& node, const std::set<assignment_name>& running,
                  const std::set<assignment_name>& ended);
    void digest_changed(const node_id& node, const std::string& digest, bool holds);
    void probed(const node_id& node, bool passed, coordinator_time now);
    /// error_class::config: no such node.
    [[nodiscard]] result<void> drain(const node_id& node, bool on);
    [[nodiscard]] std::optional<lease> lease_of(const node_id& node) const { return book_.of(node); }
    /// Leases that have ended, nodes that are silent, probes that are due. At least every tick_every().
    void tick(coordinator_time now);
    [[nodiscard]] milliseconds tick_every() const noexcept;

    // Runs.

    /// An attempt that is to start. Decided later, by place; not before the end of the one before is durable.
    void request(run_key run, attempt_number attempt, run_needs needs);
    /// Why nobody can ever take such a run as the cluster is now.
    [[nodiscard]] std::optional<std::string> obstacle(const run_needs& needs) const {
        return placement_.obstacle(needs);
    }
    /// The start of the attempt is durable.
    void started(const assignment_name& name);
    /// Those that were requested and are on no node: they are no more.
    [[nodiscard]] std::vector<std::pair<run_key, attempt_number>> withdraw_waiting();
    /// The node gives the attempt back: it never began there. False: it is not open, or not that node's.
    [[nodiscard]] bool given_back(const assignment_name& name, const node_id& from);
    /// Runs on nodes at once, whatever has room; absent: no such bound.
    void set_max_runs(std::optional<std::size_t> runs);

    /// Whether the journal has to be asked before result_came().
    [[nodiscard]] bool must_ask(const assignment_name& name) const { return fence_.must_ask(name); }
    /// A result has come. `counts`: its owner journals it; then durable(). Of an error that may be the node's fault,
    /// `failed` is its class.
    [[nodiscard]] result_standing result_came(const assignment_name& name, const node_id& from, journalled_name has,
                                              const outcome& how, coordinator_time now);
    /// The outcome is in the journal.
    void durable(const assignment_name& name);
    /// Its run has its outcome, or will not be run again: nothing of it is kept.
    void closed(run_key run);

    [[nodiscard]] std::vector<coordinator_decision> take_decisions() { return std::exchange(decisions_, {}); }
    [[nodiscard]] std::vector<node_view> nodes() const;
    [[nodiscard]] std::size_t placed() const noexcept { return out_.size(); }
    [[nodiscard]] std::size_t waiting() const noexcept {
        return requested_.size() + held_back_.size() + behind_settling_.size();
    }
    /// The node that has the attempt; nullopt: nobody has.
    [[nodiscard]] std::optional<node_id> where(const assignment_name& name) const;

  private:
    struct out_run {
        assignment_name name;
        node_id node;
        bool started = false; ///< its start is durable
    };
    struct requested_run {
        run_key run;
        attempt_number attempt{1};
        run_needs needs;
        std::uint64_t since = 0; ///< counted up as placement is asked
    };

    coordinator(coordinator_rules rules, lease_book book, result_fence fence);
    void ask_placement(requested_run what);
    void hold_back();
    void assign(const std::vector<placed_run>& placed);
    void free_room(run_key run);
    void let_held_back_in();
    void update_state(const node_id& node);
    void lose(const lease_ended& what, const std::string& why);
    [[nodiscard]] bool linked(const node_id& node) const { return linked_.contains(node); }
    [[nodiscard]] quarantine& quarantine_of(const node_id& node);
    [[nodiscard]] static quarantine::clock::time_point steady(coordinator_time now) {
        return quarantine::clock::time_point(
            std::chrono::duration_cast<quarantine::clock::duration>(now.time_since_epoch()));
    }

    coordinator_rules rules_;
    lease_book book_;
    membership members_;
    placement placement_;
    result_fence fence_;
    lost_runs lost_;
    std::map<node_id, quarantine> quarantines_; ///< by name: they outlive a node's loss
    std::set<node_id> in_quarantine_;           ///< those of them that are active
    std::set<node_id> linked_;
    std::map<run_key, requested_run> requested_; ///< placement has them, waiting
    std::uint64_t last_asked_ = 0;
    std::map<run_key, out_run> out_;
    std::deque<requested_run> held_back_;
    std::set<run_key> settling_;                       ///< a result counts and is not durable yet
    std::map<run_key, requested_run> behind_settling_; ///< their next attempts, till then
    std::optional<std::size_t> max_runs_;
    std::vector<coordinator_decision> decisions_;
};

} // namespace chalk::actors
