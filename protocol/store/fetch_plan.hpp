/// Which chunks of a tree are still to be fetched, and what to ask for next. Pure; its owner carries what it says over
/// one connection after another and puts what arrived into the cache.
///
/// Lost with its owner, and nothing with it: a new plan over what the cache holds goes on where the old one was.
#pragma once

#include "protocol/store/tree_manifest.hpp"

#include <functional>
#include <optional>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace chalk::store {

struct fetch_limits {
    std::size_t in_flight = 16; ///< chunks that are asked for and not here; each takes chunk_size of somebody's memory
    unsigned tries = 3;         ///< how often a chunk may arrive damaged before the tree is given up
};

enum class arrival {
    wanted,   ///< keep it
    damaged,  ///< not what its name says; next() asks again
    unasked,  ///< nobody asked, or it is here already: drop it
    given_up, ///< the last try was damaged also; trouble() says so
};

class fetch_plan {
  public:
    /// `is_there`: what need not be fetched, name and size (chunk_cache::holds).
    fetch_plan(const tree_manifest& tree, const std::function<bool(const chunk_need&)>& is_there,
               const fetch_limits& limits);
    /// What materialise() missed.
    fetch_plan(const std::vector<chunk_need>& missing, const fetch_limits& limits);

    /// To be asked for now, in the order of the tree; counts as in flight from here on. Empty: nothing until something
    /// arrives, or ever.
    [[nodiscard]] std::vector<chunk_digest> next();

    /// Holds `data` against the name and the size that the tree gives.
    [[nodiscard]] arrival arrived(const chunk_digest& name, std::string_view data);

    /// The source has not got it: no use in asking again.
    void refused(const chunk_digest& name, std::string_view why);

    /// What was in flight is asked for again. No chunk is charged a try.
    void connection_lost();

    /// Everything is here.
    [[nodiscard]] bool done() const noexcept { return waiting_.empty() && in_flight_.empty() && !trouble_; }
    /// error_class::harness with the chunk, once the tree is given up. Nothing is asked for from then on.
    [[nodiscard]] const std::optional<failure>& trouble() const noexcept { return trouble_; }
    /// Of what is not here.
    [[nodiscard]] bytes left() const noexcept { return left_; }
    [[nodiscard]] std::size_t in_flight() const noexcept { return in_flight_.size(); }

  private:
    struct need {
        chunk_need what;
        unsigned damaged = 0;
    };
    void add(const chunk_need& what);

    fetch_limits limits_;
    std::vector<need> needs_;
    std::unordered_map<chunk_digest, std::size_t> index_; ///< in needs_
    std::set<std::size_t> waiting_;                       ///< in the tree's order
    std::set<std::size_t> in_flight_;
    bytes left_;
    std::optional<failure> trouble_;
};

} // namespace chalk::store
