#include "cli/bench/simulated_node.hpp"

#include <utility>

namespace chalk::cli::bench {

using actors::assignment_name;
using actors::ticket;

namespace {

constexpr milliseconds dials_again_after{500};

} // namespace

simulated_node::simulated_node(std::size_t index, traits what, std::uint32_t seed, virtual_time& time,
                               node_listener& coordinator)
    : index_(index), traits_(std::move(what)), random_(seed), time_(time), coordinator_(coordinator),
      ledger_(traits_.offer.capacity) {}

virtual_time::moment simulated_node::latency() {
    return std::chrono::microseconds(std::uniform_int_distribution<int>(200, 2'000)(random_));
}

void simulated_node::to_coordinator(virtual_time::task what) {
    last_out_ = std::max(last_out_, time_.now() + latency());
    time_.at(last_out_, [this, link = link_, what = std::move(what)] {
        if (linked_ && link == link_) {
            what();
        }
    });
}

void simulated_node::to_node(virtual_time::task what) {
    last_in_ = std::max(last_in_, time_.now() + latency());
    time_.at(last_in_, [this, link = link_, what = std::move(what)] {
        if (linked_ && link == link_) {
            what();
        }
    });
}

// Links.

void simulated_node::link() {
    ++link_;
    linked_ = true;
    hello();
}

void simulated_node::cut() {
    if (std::exchange(linked_, false)) {
        ++link_;
        coordinator_.link_broke(index_);
    }
}

void simulated_node::kill() {
    stop_runs();
    clock_.reset();
    lease_.reset();
    cut();
}

void simulated_node::hello() {
    if (!clock_) {
        clock_.emplace(traits_.terms.stop_margin);
    }
    to_coordinator([this, asked = clock_->ask(now()), holds = lease_] {
        coordinator_.said_hello(index_, traits_.offer, holds, asked);
    });
}

void simulated_node::hear_refused() {
    to_node([this] {
        cut();
        time_.after(dials_again_after, [this, link = link_] {
            if (link == link_) {
                this->link();
            }
        });
    });
}

// Its lease.

void simulated_node::hear_granted(const actors::lease& what, node_listener::question asked) {
    to_node([this, what, asked] {
        if (!clock_ || !clock_->answered(asked, what.length, now())) {
            return;
        }
        const bool again = lease_ == what.number;
        lease_ = what.number;
        stop_in_time();
        if (!again || !renews_) {
            renews_ = true;
            renew_in_time();
        }
        std::set<assignment_name> running;
        std::set<assignment_name> ended;
        for (const auto& [name, its] : tickets_) {
            running.insert(name);
        }
        for (const auto& [name, how] : kept_) {
            ended.insert(name);
            tell_result(name, how);
        }
        to_coordinator([this, running, ended] { coordinator_.said_has(index_, running, ended); });
    });
}

void simulated_node::renew_in_time() {
    time_.after(actors::lease_terms::renew_every(traits_.terms.length), [this, number = lease_] {
        if (!lease_ || number != lease_) {
            return;
        }
        if (linked_) {
            to_coordinator([this, number = *lease_, asked = clock_->ask(now())] {
                coordinator_.said_renew(index_, number, asked);
            });
        }
        renew_in_time();
    });
}

void simulated_node::hear_renewed(const actors::lease& what, node_listener::question asked) {
    to_node([this, what, asked] {
        if (clock_ && lease_ == what.number) {
            static_cast<void>(clock_->answered(asked, what.length, now()));
        }
    });
}

void simulated_node::hear_over() {
    to_node([this] {
        stop_runs();
        clock_.reset();
        lease_.reset();
        hello();
    });
}

/// One look at the time when it would end, and then when it would end by then.
void simulated_node::stop_in_time() {
    time_.at(clock_->stop_at()->time_since_epoch(), [this, number = lease_] {
        if (!lease_ || number != lease_) {
            return;
        }
        if (clock_->standing(now()) == actors::lease_standing::running) {
            stop_in_time();
            return;
        }
        stop_runs();
        clock_.reset();
        lease_.reset();
        if (linked_) {
            hello();
        }
    });
}

void simulated_node::stop_runs() {
    ++life_;
    renews_ = false;
    runs_.clear();
    tickets_.clear();
    ledger_ = actors::ledger(traits_.offer.capacity);
}

// Its runs.

void simulated_node::hear_assigned(const assignment_name& name) {
    to_node([this, name] {
        if (!lease_ || tickets_.contains(name) || kept_.contains(name)) {
            return;
        }
        if (!std::exchange(holds_environment_, true)) {
            traits_.offer.held.insert(simulated_environment);
            to_coordinator([this] { coordinator_.said_holds(index_, simulated_environment); });
        }
        const ticket its{++last_ticket_};
        runs_.emplace(its, name);
        tickets_.emplace(name, its);
        const auto how = ledger_.request(its, traits_.wanted);
        if (!how) {
            const auto refused = outcome::error(how.error());
            runs_.erase(its);
            tickets_.erase(name);
            kept_.emplace(name, refused);
            tell_result(name, refused);
        } else if (*how == actors::admission::admitted) {
            begin(its);
        }
    });
}

void simulated_node::begin(ticket which) {
    std::exponential_distribution<double> length(1.0 / static_cast<double>(traits_.mean_run.count()));
    const auto took = std::chrono::duration<double, std::milli>(1 + length(random_));
    time_.after(std::chrono::duration_cast<virtual_time::moment>(took), [this, which, life = life_] {
        if (life == life_) {
            end(which);
        }
    });
}

void simulated_node::end(ticket which) {
    const auto found = runs_.find(which);
    if (found == runs_.end()) {
        return; // dropped
    }
    const auto name = found->second;
    release(which);
    const bool task_fails = std::uniform_int_distribution<int>(1, 100)(random_) == 1;
    const auto how = traits_.is_sick ? outcome::error(error_class::sandbox, "the node is sick")
                     : task_fails    ? outcome::error(error_class::task, "injected")
                                     : outcome::passed();
    kept_.emplace(name, how);
    tell_result(name, how);
}

void simulated_node::release(ticket which) {
    const auto its = runs_.extract(which);
    tickets_.erase(its.mapped());
    for (const auto next : ledger_.release(which)) {
        begin(next);
    }
}

void simulated_node::tell_result(const assignment_name& name, const outcome& how) {
    if (linked_ && lease_) {
        to_coordinator([this, name, how] { coordinator_.said_ended(index_, name, how); });
    }
}

void simulated_node::hear_dropped(const assignment_name& name) {
    to_node([this, name] {
        if (const auto its = tickets_.find(name); its != tickets_.end()) {
            release(its->second);
        }
    });
}

void simulated_node::hear_taken(const assignment_name& name) {
    to_node([this, name] { kept_.erase(name); });
}

void simulated_node::hear_probe() {
    to_node([this] {
        traits_.is_sick = false;
        to_coordinator([this] { coordinator_.said_probed(index_, true); });
    });
}

} // namespace chalk::cli::bench
