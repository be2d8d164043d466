#include "protocol/store/tree_fetch.hpp"

#include "protocol/core/overloaded.hpp"
#include "protocol/store/place_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::store {

namespace {

/// How often what the cache was to hold may be gone or damaged when the folder is made: a disk that loses what it is
/// given gives up no sooner by trying again.
constexpr unsigned most_rounds = 3;

cache_failure as_trouble(const failure& why) {
    return {cache_trouble::disk, why.message};
}

} // namespace

tree_fetch::tree_fetch(fetch_order order) : order_(std::move(order)), receiver_(order_.tree) {}

fetch_step tree_fetch::fail(cache_failure why) {
    phase_ = phase::over;
    plan_.reset();
    pin_.reset();
    assembly_.reset(); // its room may be what others wait for
    fetch_step step;
    step.taken = true;
    step.failed = std::move(why);
    return step;
}

fetch_step tree_fetch::begin() {
    if (order_.cache) {
        auto known = order_.cache->get(order_.tree);
        if (!known) {
            return fail(known.error());
        }
        if (*known) {
            return know(std::move(**known));
        }
    }
    return ask();
}

fetch_step tree_fetch::connected() {
    receiver_ = manifest_receiver(order_.tree);
    if (phase_ == phase::chunks) {
        plan_->connection_lost();
    }
    return phase_ == phase::whole || phase_ == phase::over ? fetch_step() : ask();
}

fetch_step tree_fetch::ask() {
    fetch_step step;
    step.taken = true;
    if (phase_ == phase::manifest) {
        step.out.emplace_back(want_tree{order_.tree});
        return step;
    }
    if (plan_->done()) {
        phase_ = phase::whole;
        step.whole = true;
        return step;
    }
    for (auto names = plan_->next(); !names.empty();) {
        const auto some = std::min(names.size(), max_chunks_a_want);
        const auto end = names.begin() + static_cast<std::ptrdiff_t>(some);
        step.out.emplace_back(want_chunks{order_.tree, static_cast<std::uint32_t>(some), {names.begin(), end}});
        names.erase(names.begin(), end);
    }
    return step;
}

fetch_step tree_fetch::know(tree_manifest tree) {
    if (tree.size() > order_.max_size) {
        return fail({cache_trouble::full, fmt::format("the tree {} has {} bytes; {} are the most that are taken here",
                                                      order_.tree.hex(), tree.size().count, order_.max_size.count)});
    }
    tree_ = std::move(tree);
    if (auto trouble = prepare()) {
        return fail(std::move(*trouble));
    }
    phase_ = phase::chunks;
    return ask();
}

std::optional<cache_failure> tree_fetch::prepare() {
    if (order_.cache) {
        auto pinned = order_.cache->pin(*tree_);
        if (!pinned) {
            return pinned.error();
        }
        pin_ = std::move(*pinned);
        if (auto put = order_.cache->put(*tree_); !put) {
            return put.error();
        }
        plan_.emplace(
            *tree_, [&](const chunk_need& one) { return order_.cache->holds(one); }, order_.limits);
        return std::nullopt;
    }
    if (is_placed(order_.target)) { // make() looks whether it is this tree
        plan_.emplace(std::vector<chunk_need>(), order_.limits);
        return std::nullopt;
    }
    auto begun = tree_assembly::begin(*tree_, order_.target);
    if (!begun) {
        return begun.error();
    }
    assembly_ = std::move(*begun);
    plan_.emplace(tree_->chunks(), order_.limits);
    return std::nullopt;
}

fetch_step tree_fetch::take(const bulk_message& message) {
    return std::visit(overloaded{[&](const manifest_piece& piece) { return take_piece(piece); },
                                 [&](const chunk_sent& sent) { return take_chunk(sent); },
                                 [&](const bulk_error& error) { return take_error(error); },
                                 [](const auto&) { return fetch_step(); }},
                      message);
}

fetch_step tree_fetch::take_piece(const manifest_piece& piece) {
    if (phase_ != phase::manifest || piece.tree != order_.tree) {
        return {};
    }
    auto added = receiver_.add(piece);
    if (added && *added) {
        return know(std::move(**added));
    }
    fetch_step step;
    step.taken = true;
    if (added) {
        return step;
    }
    receiver_ = manifest_receiver(order_.tree);
    if (++bad_manifests_ >= order_.limits.tries) {
        return fail({cache_trouble::mismatch,
                     fmt::format("{} (given up after {} tries)", added.error().message, bad_manifests_)});
    }
    if (piece.offset + piece.data.size() == piece.total) {
        return ask(); // the whole came, and was not the tree's
    }
    step.broken = added.error().message;
    return step;
}

cache_result<void> tree_fetch::keep(const chunk_sent& sent) {
    return assembly_ ? assembly_->put(sent.name, sent.data) : order_.cache->put(sent.name, sent.data);
}

fetch_step tree_fetch::take_chunk(const chunk_sent& sent) {
    if (phase_ != phase::chunks) {
        return {};
    }
    switch (plan_->arrived(sent.name, sent.data)) {
    case arrival::unasked:
        return {};
    case arrival::given_up:
        return fail(
            {cache_trouble::mismatch, fmt::format("the tree {}: {}", order_.tree.hex(), plan_->trouble()->message)});
    case arrival::damaged:
        return ask();
    case arrival::wanted:
        break;
    }
    if (auto kept = keep(sent); !kept) {
        return fail(kept.error());
    }
    return ask();
}

fetch_step tree_fetch::take_error(const bulk_error& error) {
    if (const auto* tree = std::get_if<tree_digest>(&error.about); tree != nullptr) {
        return phase_ == phase::manifest && *tree == order_.tree
                   ? fail({cache_trouble::mismatch,
                           fmt::format("the tree {} cannot be had: {}", tree->hex(), error.message)})
                   : fetch_step();
    }
    const auto* chunk = std::get_if<chunk_digest>(&error.about);
    if (chunk == nullptr || phase_ != phase::chunks) {
        return {};
    }
    plan_->refused(*chunk, error.message);
    return plan_->trouble() ? fail({cache_trouble::mismatch,
                                    fmt::format("the tree {}: {}", order_.tree.hex(), plan_->trouble()->message)})
                            : fetch_step();
}

cache_result<std::vector<chunk_need>> tree_fetch::make() {
    if (order_.cache) {
        auto made = materialise(*tree_, *order_.cache, order_.target, order_.kept);
        return made ? cache_result<std::vector<chunk_need>>(std::move(*made)) : as_trouble(made.error());
    }
    if (assembly_) {
        auto finished = assembly_->finish(order_.kept);
        assembly_.reset();
        return finished ? cache_result<std::vector<chunk_need>>(std::vector<chunk_need>()) : finished.error();
    }
    const auto found = find_placed(*tree_, order_.target, order_.kept);
    return found ? cache_result<std::vector<chunk_need>>(std::vector<chunk_need>()) : as_trouble(found.error());
}

fetch_step tree_fetch::resume(const std::vector<chunk_need>& missing) {
    if (++rounds_ > most_rounds) {
        return fail({cache_trouble::disk, fmt::format("the tree {}: the cache lost {} of its chunks, {} times",
                                                      order_.tree.hex(), missing.size(), rounds_)});
    }
    plan_.emplace(missing, order_.limits);
    phase_ = phase::chunks;
    return ask();
}

} // namespace chalk::store
