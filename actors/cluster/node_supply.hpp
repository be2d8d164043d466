/// What a node's agent has from its command: orders, the bulk connection, the link. So the agent knows neither the
/// command line nor how files travel.
///
/// Owner: the command and the agent, which shares it.
#pragma once

#include "actors/cluster/boot_time.hpp"
#include "actors/cluster/node_offer.hpp"
#include "actors/cluster/result_fence.hpp"
#include "actors/run/run_order.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace chalk::actors {

/// Any thread may call, and none of it blocks but probe(). `done` is called once, from any thread, and not kept once
/// the node has ended. The first want_link() comes before cluster_node::start() has returned.
class node_supply {
  public:
    node_supply() = default;
    node_supply(const node_supply&) = delete;
    node_supply& operator=(const node_supply&) = delete;
    virtual ~node_supply() = default;

    /// The order of one attempt, whose files go into `folder`; with its key and attempt as in `name`. Fetches the
    /// environment if need be. A failure is the attempt's outcome, with its class.
    virtual void make_order(std::shared_ptr<const std::string> sweep_sheet, const assignment_name& name,
                            const std::string& run_sheet, const std::filesystem::path& folder,
                            std::function<void(result<order_ptr>)> done) = 0;
    /// Until the coordinator has the files in `folder`, those that there are. Asked for again after each new link.
    virtual void land(const assignment_name& name, const std::filesystem::path& folder,
                      std::function<void(result<void>)> done) = 0;
    /// Nobody wants its files any more. Also of an attempt that was never landed.
    virtual void forget(const assignment_name& name) = 0;
    [[nodiscard]] virtual node_offer offer() = 0;
    /// Of a result whose order may be null: it could not be made. 1 byte to longest_result_sheet.
    [[nodiscard]] virtual std::string result_sheet(const run_result& what) = 0;
    [[nodiscard]] virtual std::string spending_sheet(const journal::spending& spent) = 0;
    /// On the pool, blocking: what is wrong with this node's runtimes.
    [[nodiscard]] virtual std::optional<std::string> probe() = 0;
    /// What runs has to end by itself then.
    virtual void lease_moved(node_time until) = 0;
    /// There is no link: dial, or wait for a call.
    virtual void want_link() = 0;
    /// For a person at this node.
    virtual void say(const std::string& text) = 0;
    /// The last call: the agent has quit.
    virtual void left() = 0;
};

} // namespace chalk::actors
