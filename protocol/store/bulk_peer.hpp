/// What passes in bulk between this process and one other, over one connection after another: trees that are fetched
/// from it, results that are offered to it, and those that it offers.
///
/// Owner: a node has one of these (for its coordinator), a coordinator one for each node. Lost with it: what is under
/// way; environments' chunks stay in the cache, and offers are made again by those who keep the results.
///
/// Any thread may call it; nothing blocks. Callbacks come on the io thread, and none comes after it was destroyed on
/// that thread. The executor's threads end before the io_context dies; the executor itself may be called until then.
#pragma once

#include "protocol/core/unique_fd.hpp"
#include "protocol/store/bulk_messages.hpp"
#include "protocol/store/bulk_meter.hpp"
#include "protocol/store/chunk_cache.hpp"
#include "protocol/store/fetch_plan.hpp"
#include "protocol/store/materialise.hpp"
#include "protocol/store/tree_shelf.hpp"
#include "protocol/store/work_lane.hpp"

#include <boost/asio/io_context.hpp>

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace chalk::store {

struct bulk_settings {
    /// The connection ends when nothing that was asked for comes for so long, or when the peer takes so long to read
    /// one frame.
    milliseconds deadline{60'000};
    milliseconds retry_pause{5'000};  ///< until a result that there was no room for is offered again
    std::size_t trees_in_flight = 4;  ///< fetched at a time, max_trees_wanted at most; the rest waits
    std::size_t makers = 2;           ///< folders that are made and synced at a time
    fetch_limits limits{8, 3};        ///< for each tree
    bytes max_result = max_tree_size; ///< of one offered tree; a larger one is refused
};

/// All of them may be empty.
struct bulk_callbacks {
    /// Where the result is to be; nullopt: nobody waits for it. The folder above exists. Also called for a result that
    /// is there already, since an offer is made again on each connection.
    std::function<std::optional<std::filesystem::path>(const offer& made)> on_offer;
    /// An offered result is at its place, synced; the peer is told now.
    std::function<void(const offer& made, const std::filesystem::path& target)> on_stored;
    /// An own offer has landed. Comes again when the connection was made anew and the offer is not dropped.
    std::function<void(const offer& made)> on_landed;
    /// An own offer was refused, for a log: it is made again, after a pause where there was no room, else on the next
    /// connection.
    std::function<void(const offer& made, const bulk_error& why)> on_refused;
    /// The connection ended by itself: make another one and attach() it.
    std::function<void(const std::string& why)> on_lost;
};

class bulk_peer {
  public:
    using fetched = std::function<void(result<void>)>;

    /// `cache` is for fetch(); null: what is fetched goes straight to its target. The executor runs up to 1 +
    /// settings.makers works for this peer at a time.
    bulk_peer(boost::asio::io_context& io, blocking_executor executor, std::shared_ptr<const tree_shelf> shelf,
              std::shared_ptr<chunk_cache> cache, bulk_callbacks callbacks, const bulk_settings& settings = {});
    bulk_peer(const bulk_peer&) = delete;
    bulk_peer& operator=(const bulk_peer&) = delete;
    /// Ends the connection, and all fetches with a failure.
    ~bulk_peer();

    /// A connected local stream socket (cluster::peer_connection). The connection before it ends, without on_lost.
    void attach(unique_fd fd);

    /// Brings the tree to `target`, out of the cache as far as it is there; what is missing comes over the connection,
    /// or over the next ones: there is no deadline but `done`'s owner's. `done` is called once. error_class::harness
    /// with the tree and the cause: the peer has not got it, sends it damaged, or the disk refuses.
    void fetch(const tree_digest& tree, const std::filesystem::path& target, durability kept, fetched done);

    /// The tree is on the shelf. Offered on each connection until it is dropped. The number of `made` does not count.
    void offer(store::offer made);
    /// Its outcome is journalled, or does not count: all its parts are offered no more.
    void dropped(const run_id& run, attempt_number attempt, result_token token);

    [[nodiscard]] const bulk_meter& meter() const noexcept;

  private:
    class core;
    std::shared_ptr<core> core_;
};

} // namespace chalk::store
