/// The leases that a coordinator has given: which node may run, and when a node that is not heard of has surely
/// stopped. Only then may its runs be given to others. Pure; time is handed in, and only durations of the coordinator's
/// own clock are counted.
///
/// A grant is durable before the node hears of it; a renewal needs no write. For a coordinator that is started again
/// takes every lease that the journal knows as renewed at that moment, which is later than any true renewal.
///
/// Owner: the cluster actor. When it dies, the next one is opened from the journal.
#pragma once

#include "actors/cluster/boot_time.hpp"
#include "actors/cluster/epoch_number.hpp"
#include "actors/cluster/lease_terms.hpp"
#include "actors/cluster/node_id.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace chalk::actors {

/// Journal record of a grant, and what a node is told. The length is fixed for the lease's life: a coordinator that is
/// started again with another setting must not count a shorter one than the node does.
struct lease {
    node_id node;
    lease_number number;
    milliseconds length{0};
    friend bool operator==(const lease&, const lease&) = default;
};

/// Journal record of an end. Written before anything that follows from it, or with it.
struct lease_ended {
    node_id node;
    lease_number number;
    friend bool operator==(const lease_ended&, const lease_ended&) = default;
};

class lease_book {
  public:
    /// `journalled`: the leases that were granted and have no end. `epoch` is larger than that of any of them, else
    /// error_class::harness: somebody else writes this journal.
    [[nodiscard]] static result<lease_book> open(const lease_terms& terms, std::uint64_t epoch,
                                                 const std::vector<lease>& journalled, coordinator_time now);

    /// A new lease for `node`, to be made durable; it holds from held() on. error_class::config while the node has one
    /// that has not ended.
    [[nodiscard]] result<lease> grant(const node_id& node);
    /// The grant is durable: now the node may be told. False: there is no such grant that waits.
    [[nodiscard]] bool held(const node_id& node, lease_number number, coordinator_time now);
    /// The grant could not be made durable and nobody was told of it. A lease that holds stays.
    void withdraw(const node_id& node, lease_number number);

    /// The node asks, and may go on for the length from when it asked. error_class::node_lost: that lease has ended or
    /// was never held; whatever the node runs is not to count, and it has to join anew.
    [[nodiscard]] result<lease> renew(const node_id& node, lease_number number, coordinator_time now);

    /// The node says itself that nothing of that lease runs any more. nullopt: it is not the node's present lease.
    [[nodiscard]] std::optional<lease_ended> give_up(const node_id& node, lease_number number);
    /// Takes out those that have surely ended by now, the first to end first.
    [[nodiscard]] std::vector<lease_ended> take_ended(coordinator_time now);
    /// When the next one ends if it is not renewed. nullopt: none is held.
    [[nodiscard]] std::optional<coordinator_time> next_end() const;

    /// Nodes that have not asked for so long that they get no new runs; the longest silence first.
    [[nodiscard]] std::vector<node_id> silent(coordinator_time now) const;

    /// The node's lease, also one that is not durable yet.
    [[nodiscard]] std::optional<lease> of(const node_id& node) const;
    [[nodiscard]] std::size_t size() const noexcept { return by_node_.size(); }

  private:
    struct entry {
        lease what;
        std::optional<coordinator_time> ends;   ///< surely; absent: not durable yet
        std::optional<coordinator_time> silent; ///< from when on
    };
    using entries = std::map<node_id, entry>;
    using timed = std::set<std::pair<coordinator_time, node_id>>;

    lease_book(const lease_terms& terms, std::uint64_t epoch) : terms_(terms), numbers_(epoch) {}
    void count_from(entry& e, coordinator_time now);
    [[nodiscard]] entry* find(const node_id& node, lease_number number);
    lease_ended drop(entries::iterator which);

    lease_terms terms_;
    epoch_counter<struct of_leases> numbers_;
    entries by_node_;
    timed by_end_;
    timed by_silence_;
};

} // namespace chalk::actors
