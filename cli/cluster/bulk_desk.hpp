/// The coordinator's end of all bulk connections: it gives environments to nodes, and takes their results to where the
/// sweep expects them.
#pragma once

#include "actors/cluster/landing_places.hpp"
#include "actors/node/blocking_pool.hpp"
#include "cli/cluster/environment_trees.hpp"
#include "cli/cluster/redialer.hpp"
#include "protocol/store/bulk_peer.hpp"
#include "protocol/store/tree_shelf.hpp"

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace chalk::cli {

/// Owner: the coordinator's site, and handlers that are under way. Any thread.
class bulk_desk : public std::enable_shared_from_this<bulk_desk> {
  public:
    using speaker = std::function<void(const std::string&)>;

    /// error_class::harness: a tree's manifest cannot be read.
    [[nodiscard]] static result<std::shared_ptr<bulk_desk>>
    make(boost::asio::io_context& io, const std::vector<environment_tree>& trees, speaker say);
    bulk_desk(const bulk_desk&) = delete;
    bulk_desk& operator=(const bulk_desk&) = delete;
    ~bulk_desk() = default;

    /// Where results are expected: the cluster actor says it there.
    [[nodiscard]] const std::shared_ptr<actors::landing_places>& places() const noexcept { return places_; }

    /// A bulk connection with a node of that name. Several may stand: two processes may call themselves so, of which
    /// the cluster lets one in. `by` makes it again when it ends; null: the node comes by itself.
    void attach(const std::string& node, unique_fd socket, std::shared_ptr<redialer> by);
    /// Ends all connections, and waits until nothing calls any more. Not on the io thread.
    void close();

  private:
    bulk_desk(boost::asio::io_context& io, speaker say);
    [[nodiscard]] store::bulk_callbacks callbacks_for(std::uint64_t number, const std::string& node,
                                                      std::shared_ptr<redialer> by);
    [[nodiscard]] std::optional<std::filesystem::path> place_of(const store::offer& made) const;

    boost::asio::io_context& io_;
    speaker say_;
    std::shared_ptr<actors::landing_places> places_ = std::make_shared<actors::landing_places>();
    std::shared_ptr<store::tree_shelf> shelf_ = std::make_shared<store::tree_shelf>();
    std::shared_ptr<actors::blocking_pool> pool_;
    std::mutex mutex_;
    std::map<std::uint64_t, std::shared_ptr<store::bulk_peer>> peers_; ///< one a connection
    std::uint64_t last_number_ = 0;
    bool closed_ = false;
};

} // namespace chalk::cli
