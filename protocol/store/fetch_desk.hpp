/// All fetches from one peer: which are under way, what is sent for them, and which offer each of them answers.
///
/// Owner: a bulk_peer. On the io thread; the fetches themselves work in lanes, one at a time for what comes over the
/// connection, and beside it those that make folders, so that a large one holds up nobody else's chunks.
#pragma once

#include "protocol/store/bulk_peer.hpp"
#include "protocol/store/tree_fetch.hpp"

#include <chrono>
#include <list>
#include <set>

namespace chalk::store {

/// What the desk calls. None may be empty.
struct fetch_desk_user {
    std::function<void(const bulk_message& message)> send; ///< on the connection, if there is one
    std::function<void(const std::string& why)> refuse;    ///< the peer broke a rule: end the connection
    std::function<std::optional<std::filesystem::path>(const offer& made)> on_offer;
    std::function<void(const offer& made, const std::filesystem::path& target)> on_stored;
};

class fetch_desk : public std::enable_shared_from_this<fetch_desk> {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    /// `works` is one wide and also the connection's, `makes` as wide as folders are made at a time.
    fetch_desk(std::shared_ptr<work_lane> works, std::shared_ptr<work_lane> makes, std::shared_ptr<chunk_cache> cache,
               const bulk_settings& settings, fetch_desk_user user);

    void fetch(const tree_digest& tree, const std::filesystem::path& target, durability kept, bulk_peer::fetched done);
    /// false: more offers are open than there may be.
    [[nodiscard]] bool offered(const offer& made);
    /// A manifest's piece, a chunk, or an error about either; `go_on` when it is dealt with.
    void take(bulk_message&& message, std::function<void()> go_on);

    void connected();
    void disconnected();
    /// All fetches fail; nothing is called after it.
    void close();

    /// Since when the peer has owed something: nullopt, it owes nothing, or the work is on this side.
    [[nodiscard]] std::optional<time_point> waiting_since() const;

  private:
    enum class state { waiting, fetching, making };

    struct job {
        std::shared_ptr<tree_fetch> fetch;
        state now = state::waiting;
        bulk_peer::fetched done;     ///< of fetch()
        std::optional<offer> result; ///< of offered()
        bool answered_to = false;    ///< the result's number is one of this connection's
    };
    using job_ptr = std::shared_ptr<job>;

    void add(job_ptr one);
    void start_some();
    [[nodiscard]] bool may_start(const job& one) const;
    void work(const job_ptr& one, std::function<fetch_step()> step);
    void apply(const job_ptr& one, fetch_step&& step, std::uint64_t connection);
    void make(const job_ptr& one);
    void finish(const job_ptr& one, const std::optional<cache_failure>& trouble);
    void give_up(job& one);
    void answer(job& one, const std::optional<cache_failure>& trouble);
    void answer(offer_number number, const bulk_message& message);

    std::shared_ptr<work_lane> works_;
    std::shared_ptr<work_lane> makes_;
    std::shared_ptr<chunk_cache> cache_;
    bulk_settings settings_;
    fetch_desk_user user_;
    std::list<job_ptr> jobs_;
    std::set<offer_number> open_; ///< offers of this connection that are not answered
    std::uint64_t connection_ = 0;
    bool connected_ = false;
    bool closed_ = false;
    time_point progress_ = std::chrono::steady_clock::now();
};

} // namespace chalk::store
