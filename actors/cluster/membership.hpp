/// The nodes of a cluster by name, and what each may be used for. A name is one node's at a time: a second node that
/// comes under it is refused until the first one's lease has ended. Pure.
///
/// A node is heard of, drained and quarantined by itself: state() says the one that matters most. Only a ready node
/// gets new runs; a suspect, draining or quarantined one goes on with those it has.
///
/// Owner: the cluster actor. After a restart the nodes with a lease in the journal are suspect until they come back.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "actors/cluster/node_id.hpp"
#include "actors/cluster/node_offer.hpp"
#include "protocol/core/result.hpp"

#include <array>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::actors {

/// In the order of their weight: of those that are true of a node the first is its state.
enum class member_state {
    lost,        ///< its lease has ended
    joining,     ///< its lease is not durable yet
    suspect,     ///< not heard of lately, or its connection is gone; its lease goes on
    draining,    ///< a person wants it to start nothing more
    quarantined, ///< too many infrastructure errors
    ready
};

inline constexpr std::array<std::string_view, 6> member_state_names = {"lost",     "joining",     "suspect",
                                                                       "draining", "quarantined", "ready"};
[[nodiscard]] std::string_view to_string(member_state state) noexcept;

class membership {
  public:
    enum class entry {
        anew, ///< it gets a new lease; what it ran before is void
        again ///< its lease holds and it goes on with what it runs
    };

    /// `version`: the coordinator's own chalk.
    explicit membership(std::string version) : version_(std::move(version)) {}

    /// From the journal: a node with a lease that may still hold.
    void remember(const node_id& id, lease_number its);

    /// A node asks to be let in. `holds`: the lease that it says to have. error_class::config: another version (both
    /// are named), or its name is that of a node which is alive. A refusal changes nothing.
    [[nodiscard]] result<entry> join(const node_id& id, node_offer offer, std::optional<lease_number> holds);
    /// The new lease of a joining node is durable. False: it is not joining.
    bool joined(const node_id& id, lease_number its);
    /// The new lease could not be made durable, or the node went away before: as if it had not come.
    void turn_away(const node_id& id);

    void silent(const node_id& id);
    void heard(const node_id& id);
    /// Stays with the name, also when its node is lost and comes back.
    void drain(const node_id& id, bool on);
    void set_quarantined(const node_id& id, bool on);
    /// `its` has surely ended, or was given up. False: it is not the node's present lease.
    bool lost(const node_id& id, lease_number its);
    /// A lost node leaves the list. False while it is alive.
    bool forget(const node_id& id);

    /// What a node holds changes as it fetches and evicts.
    void now_holds(const node_id& id, const std::string& digest);
    void holds_no_more(const node_id& id, const std::string& digest);

    /// nullopt: no such node.
    [[nodiscard]] std::optional<member_state> state(const node_id& id) const;
    [[nodiscard]] std::optional<lease_number> lease_of(const node_id& id) const;
    /// What it offers; null: no such node, or it was not heard of since a restart.
    [[nodiscard]] const node_offer* offer(const node_id& id) const;
    [[nodiscard]] std::vector<node_id> nodes() const;

  private:
    struct member {
        std::optional<node_offer> offer;
        std::optional<lease_number> lease; ///< absent: joining, or lost
        bool joining = false;
        bool silent = false;
        bool draining = false;
        bool quarantined = false;
    };
    [[nodiscard]] static member_state state_of(const member& m) noexcept;
    [[nodiscard]] member* find(const node_id& id);
    [[nodiscard]] const member* find(const node_id& id) const;

    std::string version_;
    std::map<node_id, member> members_;
};

} // namespace chalk::actors
