/// What a node's agent gets from the command: orders out of sheets, results that go to the coordinator, the connection.
#pragma once

#include "actors/cluster/node_supply.hpp"
#include "actors/node/blocking_pool.hpp"
#include "cli/cluster/environment_store.hpp"
#include "cli/cluster/node_options.hpp"
#include "cli/cluster/node_site.hpp"
#include "cli/cluster/redialer.hpp"
#include "protocol/core/own_keys.hpp"
#include "protocol/store/bulk_peer.hpp"
#include "protocol/store/tree_shelf.hpp"

#include <boost/asio/io_context.hpp>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace chalk::cli {

struct supply_settings {
    std::shared_ptr<runtime> sandboxes; ///< null: none works here
    actors::node_offer offer;           ///< but for what it holds
    std::filesystem::path folder;       ///< the node's own, locked
    bytes cache;                        ///< cap of the cache of environments
    std::function<void(const std::string&)> say;
    std::function<void()> want_link;
    std::function<void()> want_bulk; ///< the bulk connection has ended
    std::function<void()> left;
};

/// Owner: the command, and the node, which shares it. close() comes before the io thread ends.
class command_supply final : public actors::node_supply, public std::enable_shared_from_this<command_supply> {
  public:
    /// Blocking. error_class::harness: the folder cannot be used. `keys` outlives it.
    [[nodiscard]] static result<std::shared_ptr<command_supply>> make(boost::asio::io_context& io, const own_keys& keys,
                                                                      supply_settings settings);

    /// Any thread. A bulk connection with the coordinator.
    void attach(unique_fd socket);
    /// Not on the io thread. Nothing is called after it.
    void close();

    void make_order(std::shared_ptr<const std::string> sweep_sheet, const actors::assignment_name& name,
                    const std::string& run_sheet, const std::filesystem::path& folder,
                    std::function<void(result<actors::order_ptr>)> done) override;
    void land(const actors::assignment_name& name, const std::filesystem::path& folder,
              std::function<void(result<void>)> done) override;
    void forget(const actors::assignment_name& name) override;
    [[nodiscard]] actors::node_offer offer() override;
    [[nodiscard]] std::string result_sheet(const actors::run_result& what) override;
    [[nodiscard]] std::string spending_sheet(const journal::spending& spent) override;
    [[nodiscard]] std::optional<std::string> probe() override;
    void lease_moved(actors::node_time until) override;
    void want_link() override { settings_.want_link(); }
    void say(const std::string& text) override { settings_.say(text); }
    void left() override { settings_.left(); }

  private:
    /// A result that is offered to the coordinator.
    struct offered {
        store::offer what;
        std::filesystem::path folder;
        std::function<void(result<void>)> done; ///< empty: it was called
        bool landed = false;                    ///< once for all: it is on the coordinator's disk
    };

    command_supply(const own_keys& keys, supply_settings settings) : keys_(keys), settings_(std::move(settings)) {}
    [[nodiscard]] result<void> open(boost::asio::io_context& io);
    [[nodiscard]] result<std::shared_ptr<node_site>> site_of(const std::shared_ptr<const std::string>& sheet);
    /// Null once close() has begun.
    [[nodiscard]] std::shared_ptr<environment_store> environments();
    /// True: it is offered already, and `done` is called now or when it has landed.
    [[nodiscard]] bool wait_for(store::result_token token, std::function<void(result<void>)>& done);
    void offer_tree(const actors::assignment_name& name, const std::filesystem::path& folder,
                    std::function<void(result<void>)> done);
    void answer(const store::offer& made, result<void> how);
    void take_back(store::result_token token);

    const own_keys& keys_;
    supply_settings settings_;
    boost::asio::io_context* io_ = nullptr;
    std::shared_ptr<actors::blocking_pool> pool_;
    std::shared_ptr<store::tree_shelf> shelf_ = std::make_shared<store::tree_shelf>();
    std::shared_ptr<store::bulk_peer> bulk_;
    std::shared_ptr<environment_store> environments_;
    std::mutex mutex_;
    std::shared_ptr<const std::string> sheet_; ///< that site_ is of
    std::shared_ptr<node_site> site_;
    std::map<store::result_token, offered> offered_;
};

} // namespace chalk::cli
