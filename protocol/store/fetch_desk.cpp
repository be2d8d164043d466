#include "protocol/store/fetch_desk.hpp"

#include "protocol/store/offer_book.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::store {

fetch_desk::fetch_desk(std::shared_ptr<work_lane> works, std::shared_ptr<work_lane> makes,
                       std::shared_ptr<chunk_cache> cache, const bulk_settings& settings, fetch_desk_user user)
    : works_(std::move(works)), makes_(std::move(makes)), cache_(std::move(cache)), settings_(settings),
      user_(std::move(user)) {
    settings_.trees_in_flight = std::clamp<std::size_t>(settings_.trees_in_flight, 1, max_trees_wanted);
}

void fetch_desk::fetch(const tree_digest& tree, const std::filesystem::path& target, durability kept,
                       bulk_peer::fetched done) {
    const auto one = std::make_shared<job>();
    one->fetch = std::make_shared<tree_fetch>(fetch_order{tree, target, kept, cache_, max_tree_size, settings_.limits});
    one->done = std::move(done);
    add(one);
}

bool fetch_desk::offered(const offer& made) {
    if (open_.size() >= max_offers_open || !open_.insert(made.number).second) {
        return false;
    }
    const auto same = std::find_if(jobs_.begin(), jobs_.end(), [&](const job_ptr& one) {
        return one->result && !one->answered_to && is_same_result(*one->result, made);
    });
    if (same != jobs_.end()) { // was under way when the last connection ended
        (*same)->result = made;
        (*same)->answered_to = true;
        return true;
    }
    const auto target = user_.on_offer(made);
    if (!target) {
        answer(made.number, bulk_error{bulk_fault::offer_refused, made.number, "nobody waits for this result"});
        return true;
    }
    const auto one = std::make_shared<job>();
    one->fetch = std::make_shared<tree_fetch>(
        fetch_order{made.tree, *target, durability::power_cut, nullptr, settings_.max_result, settings_.limits});
    one->result = made;
    one->answered_to = true;
    add(one);
    return true;
}

void fetch_desk::add(job_ptr one) {
    if (closed_) {
        give_up(*one);
        return;
    }
    jobs_.push_back(std::move(one));
    start_some();
}

/// What goes through the cache waits for another fetch of the same tree: it then finds it there, and nothing comes
/// twice. Nor do two fetches make one target.
bool fetch_desk::may_start(const job& one) const {
    const auto& order = one.fetch->order();
    return one.now == state::waiting && std::none_of(jobs_.begin(), jobs_.end(), [&](const job_ptr& other) {
               const auto& its = other->fetch->order();
               return other->now != state::waiting &&
                      ((order.cache && its.cache && its.tree == order.tree) || its.target == order.target);
           });
}

void fetch_desk::start_some() {
    auto active = static_cast<std::size_t>(
        std::count_if(jobs_.begin(), jobs_.end(), [](const job_ptr& one) { return one->now != state::waiting; }));
    for (const auto& one : jobs_) {
        if (active >= settings_.trees_in_flight) {
            return;
        }
        if (may_start(*one)) {
            ++active;
            one->now = state::fetching;
            work(one, [fetch = one->fetch] { return fetch->begin(); });
        }
    }
}

void fetch_desk::work(const job_ptr& one, std::function<fetch_step()> step) {
    works_->run_for<fetch_step>(std::move(step),
                                [self = shared_from_this(), one, connection = connection_](fetch_step&& made) {
                                    self->apply(one, std::move(made), connection);
                                });
}

void fetch_desk::apply(const job_ptr& one, fetch_step&& step, std::uint64_t connection) {
    progress_ = std::chrono::steady_clock::now();
    if (closed_ || one->now != state::fetching) {
        return;
    }
    if (step.failed) {
        finish(one, step.failed);
    } else if (step.whole) {
        make(one);
    } else if (connected_ && connection == connection_) { // else connected() asks, or has asked
        for (const auto& message : step.out) {
            user_.send(message);
        }
        if (step.broken) {
            user_.refuse(*step.broken);
        }
    }
}

void fetch_desk::make(const job_ptr& one) {
    using made_or_missing = cache_result<std::vector<chunk_need>>;
    one->now = state::making;
    makes_->run_for<made_or_missing>(
        [fetch = one->fetch] { return fetch->make(); },
        [self = shared_from_this(), one](made_or_missing&& made) {
            self->progress_ = std::chrono::steady_clock::now();
            if (self->closed_) {
                return;
            }
            if (!made) {
                self->finish(one, made.error());
            } else if (made->empty()) {
                self->finish(one, std::nullopt);
            } else {
                one->now = state::fetching;
                self->work(one, [fetch = one->fetch, missing = std::move(*made)] { return fetch->resume(missing); });
            }
        });
}

void fetch_desk::finish(const job_ptr& one, const std::optional<cache_failure>& trouble) {
    jobs_.remove(one);
    // Its pin, and where it failed its folder, go where one may block.
    const auto target = one->fetch->order().target;
    works_->run([last = std::exchange(one->fetch, nullptr)]() mutable { last.reset(); }, [] {});
    if (one->result) {
        if (!trouble) {
            user_.on_stored(*one->result, target);
        }
        answer(*one, trouble);
    }
    if (one->done) {
        std::exchange(one->done, nullptr)(trouble ? result<void>(trouble->as_failure()) : result<void>());
    }
    start_some();
}

void fetch_desk::answer(job& one, const std::optional<cache_failure>& trouble) {
    if (!one.answered_to) {
        return; // it is offered again, and found at its place
    }
    const auto number = one.result->number;
    if (!trouble) {
        answer(number, landed{number, one.result->tree});
    } else {
        const bool full = trouble->code == cache_trouble::full;
        answer(number, bulk_error{full ? bulk_fault::no_room : bulk_fault::offer_refused, number, trouble->message});
    }
}

void fetch_desk::answer(offer_number number, const bulk_message& message) {
    open_.erase(number);
    user_.send(message);
}

void fetch_desk::take(bulk_message&& message, std::function<void()> go_on) {
    struct taken {
        job_ptr by;
        fetch_step step;
    };
    std::vector<job_ptr> able;
    std::copy_if(jobs_.begin(), jobs_.end(), std::back_inserter(able),
                 [](const job_ptr& one) { return one->now == state::fetching; });
    std::vector<std::shared_ptr<tree_fetch>> fetches;
    for (const auto& one : able) {
        fetches.push_back(one->fetch);
    }
    works_->run_for<taken>(
        [message = std::make_shared<const bulk_message>(std::move(message)), able = std::move(able),
         fetches = std::move(fetches)] {
            for (std::size_t i = 0; i < able.size(); ++i) {
                if (auto step = fetches[i]->take(*message); step.taken) {
                    return taken{able[i], std::move(step)};
                }
            }
            return taken{}; // nobody asked for it, or not any more
        },
        [self = shared_from_this(), go_on = std::move(go_on), connection = connection_](taken&& made) {
            if (made.by) {
                self->apply(made.by, std::move(made.step), connection);
            }
            go_on();
        });
}

void fetch_desk::connected() {
    ++connection_;
    connected_ = true;
    progress_ = std::chrono::steady_clock::now();
    for (const auto& one : jobs_) {
        if (one->now == state::fetching) {
            work(one, [fetch = one->fetch] { return fetch->connected(); });
        }
    }
}

void fetch_desk::disconnected() {
    connected_ = false;
    open_.clear(); // offers are made again
    for (const auto& one : jobs_) {
        one->answered_to = false;
    }
}

void fetch_desk::close() {
    closed_ = true;
    connected_ = false;
    for (auto jobs = std::exchange(jobs_, {}); const auto& one : jobs) {
        // After what is under way in either lane: whoever holds it last lets go of it where one may block.
        works_->run([last = one->fetch]() mutable { last.reset(); }, [] {});
        give_up(*one);
        one->fetch.reset();
    }
}

void fetch_desk::give_up(job& one) {
    if (one.done) {
        std::exchange(one.done, nullptr)(harness_failure(
            fmt::format("the tree {} was not fetched: its owner ended", one.fetch->order().tree.hex())));
    }
}

std::optional<fetch_desk::time_point> fetch_desk::waiting_since() const {
    const bool owed = connected_ && works_->idle() && std::any_of(jobs_.begin(), jobs_.end(), [](const job_ptr& one) {
                          return one->now == state::fetching;
                      });
    return owed ? std::optional(progress_) : std::nullopt;
}

} // namespace chalk::store
