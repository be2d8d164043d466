/// A node of `chalk bench cluster`: it keeps its lease by its own clock, admits runs by a real ledger, and holds on to
/// results until they are taken. What would be sandboxes are waits.
///
/// Owner: simulated_cluster, which gives it the way to its coordinator.
#pragma once

#include "actors/cluster/lease_book.hpp"
#include "actors/cluster/lease_clock.hpp"
#include "actors/cluster/node_offer.hpp"
#include "actors/cluster/result_fence.hpp"
#include "cli/bench/virtual_time.hpp"

#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <unordered_map>

namespace chalk::cli::bench {

/// What the coordinator's side does with a node's words, when they have arrived.
class node_listener {
  public:
    node_listener() = default;
    node_listener(const node_listener&) = delete;
    node_listener& operator=(const node_listener&) = delete;
    virtual ~node_listener() = default;

    using question = actors::lease_clock::question;
    virtual void said_hello(std::size_t node, const actors::node_offer& offer,
                            std::optional<actors::lease_number> holds, question asked) = 0;
    virtual void said_renew(std::size_t node, actors::lease_number number, question asked) = 0;
    virtual void said_has(std::size_t node, const std::set<actors::assignment_name>& running,
                          const std::set<actors::assignment_name>& ended) = 0;
    virtual void said_holds(std::size_t node, const std::string& digest) = 0;
    virtual void said_ended(std::size_t node, const actors::assignment_name& name, const outcome& how) = 0;
    virtual void said_probed(std::size_t node, bool passed) = 0;
    virtual void link_broke(std::size_t node) = 0;
};

class simulated_node {
  public:
    struct traits {
        actors::node_offer offer;
        actors::resources wanted; ///< of each run
        actors::lease_terms terms;
        milliseconds mean_run{1'000};
        bool is_sick = false; ///< its sandboxes break until a probe has mended it
    };

    simulated_node(std::size_t index, traits what, std::uint32_t seed, virtual_time& time, node_listener& coordinator);

    /// Dials, again and again until it stands.
    void link();
    /// The coordinator hears of it at once; what is under way is lost. The node goes on.
    void cut();
    /// SIGKILL: what it runs and its lease are gone, results on its disk are not.
    void kill();

    // From the coordinator, over the link that stands.
    void hear_refused();
    void hear_granted(const actors::lease& what, node_listener::question asked);
    void hear_renewed(const actors::lease& what, node_listener::question asked);
    void hear_over();
    void hear_assigned(const actors::assignment_name& name);
    void hear_dropped(const actors::assignment_name& name);
    void hear_taken(const actors::assignment_name& name);
    void hear_probe();

  private:
    /// Over the link, in order, after a short while.
    void to_coordinator(virtual_time::task what);
    void to_node(virtual_time::task what);
    void hello();
    void renew_in_time();
    void stop_in_time();
    void stop_runs();
    void begin(actors::ticket which);
    void end(actors::ticket which);
    void release(actors::ticket which);
    void tell_result(const actors::assignment_name& name, const outcome& how);
    [[nodiscard]] virtual_time::moment latency();
    [[nodiscard]] actors::node_time now() const { return actors::node_time(time_.now()); }

    std::size_t index_;
    traits traits_;
    std::mt19937 random_;
    virtual_time& time_;
    node_listener& coordinator_;
    std::uint64_t link_ = 0; ///< counts; what belongs to an earlier one is lost
    std::uint64_t life_ = 0; ///< likewise, of its runs
    bool linked_ = false;
    virtual_time::moment last_in_{0};
    virtual_time::moment last_out_{0};
    std::optional<actors::lease_clock> clock_;
    std::optional<actors::lease_number> lease_;
    actors::ledger ledger_;
    std::unordered_map<actors::ticket, actors::assignment_name> runs_;
    std::map<actors::assignment_name, actors::ticket> tickets_;
    std::map<actors::assignment_name, outcome> kept_;
    std::uint64_t last_ticket_ = 0;
    bool holds_environment_ = false;
    bool renews_ = false;
};

/// What all runs need, and a node fetches with its first one.
inline constexpr const char* simulated_environment = "sha256:simulated";

} // namespace chalk::cli::bench
