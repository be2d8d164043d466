/// One tree on its way here: what to ask for, and what becomes of what arrives. Through the cache where it has one
/// (environments: wanted again and again), else straight to its place (results: wanted once, see tree_assembly.hpp).
///
/// Owner: a bulk_peer; outlives connections. Blocking, one thread at a time, and without a socket: what it returns is
/// to be sent. When it dies, an environment's chunks stay in the cache, and a result's are gone.
///
///     begin()                          then connected() for each connection, take() for each message
///     step.whole                       nothing is missing: make(), beside which anything but begin() may be called
///     make() returned missing chunks   resume() with them
#pragma once

#include "protocol/store/bulk_messages.hpp"
#include "protocol/store/cache_failure.hpp"
#include "protocol/store/chunk_cache.hpp"
#include "protocol/store/fetch_plan.hpp"
#include "protocol/store/manifest_transfer.hpp"
#include "protocol/store/materialise.hpp"
#include "protocol/store/tree_assembly.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::store {

struct fetch_order {
    tree_digest tree;
    std::filesystem::path target;
    durability kept = durability::until_restart;
    std::shared_ptr<chunk_cache> cache; ///< null: straight to the target
    bytes max_size = max_tree_size;     ///< of the tree
    fetch_limits limits = {};
};

/// What is to be done after a call.
struct fetch_step {
    bool taken = false; ///< of take(): the message was for this fetch
    bool whole = false; ///< make() is next
    std::vector<bulk_message> out;
    std::optional<cache_failure> failed; ///< the fetch is over; ::full: there is no room
    std::optional<std::string> broken;   ///< the peer broke a rule: the connection ends, the fetch goes on
};

class tree_fetch {
  public:
    explicit tree_fetch(fetch_order order);

    /// Looks at what is here. Asks for the rest.
    [[nodiscard]] fetch_step begin();
    /// There is a new connection: what was asked for on the last one is asked for again.
    [[nodiscard]] fetch_step connected();
    /// A manifest_piece, a chunk_sent, or an error about a tree or a chunk.
    [[nodiscard]] fetch_step take(const bulk_message& message);

    /// Everything is here. Makes the folder; returns what turned out to be missing after all.
    [[nodiscard]] cache_result<std::vector<chunk_need>> make();
    /// After make(): fetches these too.
    [[nodiscard]] fetch_step resume(const std::vector<chunk_need>& missing);

    [[nodiscard]] const fetch_order& order() const noexcept { return order_; }

  private:
    enum class phase { manifest, chunks, whole, over };

    [[nodiscard]] fetch_step ask();
    [[nodiscard]] fetch_step fail(cache_failure why);
    [[nodiscard]] fetch_step know(tree_manifest tree);
    [[nodiscard]] fetch_step take_piece(const manifest_piece& piece);
    [[nodiscard]] fetch_step take_chunk(const chunk_sent& sent);
    [[nodiscard]] fetch_step take_error(const bulk_error& error);
    [[nodiscard]] std::optional<cache_failure> prepare();
    [[nodiscard]] cache_result<void> keep(const chunk_sent& sent);

    fetch_order order_;
    phase phase_ = phase::manifest;
    manifest_receiver receiver_;
    unsigned bad_manifests_ = 0;
    unsigned rounds_ = 0; ///< of resume()
    std::optional<tree_manifest> tree_;
    std::optional<fetch_plan> plan_;
    std::optional<cache_pin> pin_;
    std::unique_ptr<tree_assembly> assembly_; ///< null: through the cache, or the target is there
};

} // namespace chalk::store
