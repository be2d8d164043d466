#include "actors/cluster/node_member.hpp"

#include "actors/cluster/run_messages.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::actors {

node_member::node_member(node_member_rules rules, std::optional<lease_number> found,
                         const std::vector<assignment_name>& kept)
    : rules_(rules), offered_(rules.most_offered), clock_(rules.stop_margin) {
    if (found) {
        lease_ = lease_state::spent;
        number_ = *found;
    }
    for (const auto& name : kept) {
        if (attempts_.size() < most_kept_runs) {
            attempts_.emplace(name, attempt{.at = stage::kept});
            kept_.insert(name);
        }
    }
}

// The link.

void node_member::link_up(node_time now) {
    take_back_offers();
    offer_not_before_.reset();
    talk_ = talk::waiting;
    ending_ = false;
    go_on(now);
}

void node_member::link_lost(node_time now) {
    take_back_offers();
    talk_ = talk::silent;
    answer_by_.reset();
    go_on(now);
}

/// Said again on each new link until they are answered. Files that are landing go on: their connection is another.
void node_member::take_back_offers() {
    for (auto it = attempts_.begin(); told_ > 0 && it != attempts_.end(); ++it) {
        if (it->second.at == stage::told) {
            --told_;
            static_cast<void>(offered_.give_back(1));
            keep(it);
        }
    }
}

void node_member::say_hello(node_time now) {
    if (lease_ != lease_state::live) {
        clock_ = lease_clock(rules_.stop_margin);
    }
    hello_asked_ = clock_.ask(now);
    talk_ = talk::asked;
    answer_by_ = now + rules_.answer_within;
    decisions_.emplace_back(member_decision::say_hello{held(), hello_asked_});
}

void node_member::granted(lease_number number, milliseconds length, lease_clock::question asked, node_time now) {
    tick(now);
    if (talk_ != talk::asked || asked != hello_asked_) {
        return; // of a hello that another one followed
    }
    talk_ = talk::joined;
    answer_by_.reset();
    length_ = length;
    renew_at_ = now + lease_terms::renew_every(length);
    if (number == held() && lease_ == lease_state::spent) {
        give_up_by_ = now + length;
        await_answers_ = true;
    } else if (number == held() && lease_ == lease_state::live) {
        if (clock_.answered(asked, length, now)) {
            decisions_.emplace_back(member_decision::move_lease{*clock_.until()});
        }
    } else if (lease_ == lease_state::live) {
        // The coordinator has ended the one that this node runs under. Another begins when nothing of it is left.
        number_ = number;
        decisions_.emplace_back(member_decision::note_lease{number_});
        stop("the coordinator has ended this node's lease and granted another", lease_state::unused);
        talk_ = talk::waiting;
    } else {
        begin_lease(number, length, asked, now);
    }
    if (talk_ == talk::joined) {
        member_decision::say_kept has;
        for (const auto& [name, one] : attempts_) {
            const bool runs = one.at == stage::making || one.at == stage::running;
            if (!one.dropped && !(runs && one.stopped)) {
                (runs ? has.running : has.ended).insert(name);
            }
        }
        decisions_.emplace_back(std::move(has));
    }
    go_on(now);
}

void node_member::begin_lease(lease_number number, milliseconds length, lease_clock::question asked, node_time now) {
    number_ = number;
    decisions_.emplace_back(member_decision::note_lease{number_});
    give_up_by_.reset();
    await_answers_ = false;
    if (quiet() && clock_.answered(asked, length, now)) {
        lease_ = lease_state::live;
        decisions_.emplace_back(member_decision::move_lease{*clock_.until()});
    } else {
        lease_ = lease_state::unused;
        talk_ = talk::waiting;
    }
}

void node_member::renewed(lease_number number, milliseconds length, lease_clock::question asked, node_time now) {
    tick(now);
    if (lease_ == lease_state::live && number == number_ && clock_.answered(asked, length, now)) {
        length_ = length;
        decisions_.emplace_back(member_decision::move_lease{*clock_.until()});
    }
}

void node_member::refused() {
    if (talk_ == talk::asked) {
        talk_ = talk::resting;
        answer_by_.reset();
    }
}

void node_member::over(lease_number number, node_time now) {
    tick(now);
    if (number != held() || lease_ == lease_state::none) {
        return;
    }
    if (lease_ == lease_state::live) {
        stop("the coordinator says that this node's lease has ended", lease_state::none);
    }
    lease_ = lease_state::none;
    if (talk_ == talk::joined) {
        take_back_offers();
        talk_ = talk::waiting;
    }
    go_on(now);
}

void node_member::sweep_over(node_time now) {
    ending_ = true;
    if (talk_ == talk::waiting && lease_ == lease_state::none) {
        talk_ = talk::resting;
    }
    go_on(now);
}

void node_member::quit(node_time now) {
    if (!std::exchange(quitting_, true)) {
        quit_by_ = now + rules_.quit_within;
        go_on(now);
    }
}

void node_member::tick(node_time now) {
    go_on(now);
}

void node_member::go_on(node_time now) {
    if (lease_ == lease_state::live && clock_.standing(now) == lease_standing::stopping) {
        give_up_by_ = clock_.until();
        stop("this node's lease is about to end and was not renewed", lease_state::spent);
    }
    if (lease_ == lease_state::live && quitting_) {
        stop("this node was told to quit", lease_state::spent);
        await_answers_ = true;
    }
    if (lease_ == lease_state::live && ending_ && quiet() && being_made().empty()) {
        lease_ = lease_state::spent;
        give_up_by_ = clock_.until();
        await_answers_ = true;
    }
    if (lease_ == lease_state::unused && quitting_) {
        lease_ = lease_state::spent;
    }
    if (lease_ == lease_state::live && talk_ == talk::joined && renew_at_ && now >= *renew_at_) {
        renew_at_ = now + lease_terms::renew_every(length_);
        decisions_.emplace_back(member_decision::say_renewal{number_, clock_.ask(now)});
    }
    if (talk_ == talk::joined) {
        offer(now);
    }
    give_up(now);
    // A new lease begins when nothing is left of the one before; a live one goes on.
    if (talk_ == talk::waiting && (quiet() || lease_ == lease_state::live) &&
        (!quitting_ || lease_ == lease_state::spent)) {
        say_hello(now);
    }
    if (answer_by_ && now >= *answer_by_) {
        answer_by_.reset();
        decisions_.emplace_back(member_decision::cut_off_link{"the coordinator has not answered"});
    }
    leave_when_done(now);
}

/// All runs are killed. What they end as is no result, unless they had ended by themselves.
void node_member::stop(const std::string& why, lease_state then) {
    lease_ = then;
    renew_at_.reset();
    await_answers_ = false;
    for (auto& [name, one] : attempts_) {
        one.stopped = one.stopped || one.at == stage::making || one.at == stage::running;
    }
    if (running_ > 0) {
        decisions_.emplace_back(member_decision::stop_runs{why});
    }
    decisions_.emplace_back(member_decision::say_word{why});
}

void node_member::give_up(node_time now) {
    if (lease_ != lease_state::spent || talk_ != talk::joined || !quiet()) {
        return;
    }
    // Who quits and has not delivered keeps its lease: the node's next process may yet deliver under it.
    if (!delivered() && (quitting_ || !give_up_by_ || now < *give_up_by_)) {
        return;
    }
    decisions_.emplace_back(member_decision::say_given_up{number_});
    lease_ = lease_state::none;
    give_up_by_.reset();
    await_answers_ = false;
    talk_ = ending_ || quitting_ ? talk::resting : talk::waiting;
}

void node_member::leave_when_done(node_time now) {
    if (!quitting_ || left_) {
        return;
    }
    const bool may_deliver =
        talk_ == talk::asked || ((talk_ == talk::joined || talk_ == talk::waiting) && lease_ == lease_state::spent);
    if (now >= *quit_by_ || (quiet() && writing_ == 0 && !may_deliver)) {
        left_ = true;
        decisions_.emplace_back(member_decision::leave{});
    }
}

std::optional<node_time> node_member::next_due() const {
    std::optional<node_time> due;
    const auto add = [&](const std::optional<node_time>& one) { due = one && (!due || *one < *due) ? one : due; };
    if (lease_ == lease_state::live) {
        add(clock_.stop_at());
    }
    if (talk_ == talk::joined) {
        if (lease_ == lease_state::live) {
            add(renew_at_);
        }
        if (lease_ == lease_state::spent && quiet()) {
            add(give_up_by_);
        }
        if (!kept_.empty()) {
            add(offer_not_before_);
        }
    }
    add(answer_by_);
    if (quitting_ && !left_) {
        add(quit_by_);
    }
    return due;
}

// Runs.

void node_member::assigned(const assignment_name& name, std::string sheet, node_time now) {
    tick(now);
    // Without a lease it is lost with the one that was: the coordinator knows that from the hello or the lease's end.
    if (lease_ != lease_state::live || talk_ != talk::joined || ending_ || attempts_.contains(name)) {
        return;
    }
    if (attempts_.size() >= most_kept_runs) {
        decisions_.emplace_back(
            member_decision::say_word{"this node keeps as many results as it may: it takes no more runs"});
        return;
    }
    attempts_.emplace(name, attempt{});
    decisions_.emplace_back(member_decision::make_run{name, std::move(sheet)});
}

bool node_member::may_start(const assignment_name& name, node_time now) {
    tick(now);
    const auto found = attempts_.find(name);
    if (found == attempts_.end() || found->second.at != stage::making) {
        return false;
    }
    if (found->second.stopped || found->second.dropped) {
        forget(found);
        go_on(now);
        return false;
    }
    found->second.at = stage::running;
    ++running_;
    return true;
}

bool node_member::ended(const assignment_name& name, bool cancelled, node_time now) {
    tick(now);
    const auto found = attempts_.find(name);
    if (found == attempts_.end() || (found->second.at != stage::making && found->second.at != stage::running)) {
        return false;
    }
    auto& one = found->second;
    const bool began = one.at == stage::running;
    running_ -= began ? 1 : 0;
    const bool counts = !one.dropped && !(one.stopped && (cancelled || !began));
    if (counts) {
        one.at = stage::writing;
        ++writing_;
    } else {
        forget(found);
    }
    go_on(now);
    return counts;
}

void node_member::kept(const assignment_name& name, node_time now) {
    const auto found = attempts_.find(name);
    if (found == attempts_.end() || found->second.at != stage::writing) {
        return;
    }
    --writing_;
    if (found->second.dropped) {
        forget(found);
    } else {
        keep(found);
    }
    go_on(now);
}

void node_member::keep(attempts::iterator which) {
    which->second.at = stage::kept;
    kept_.insert(which->first);
}

void node_member::offer(node_time now) {
    if (offer_not_before_ && now < *offer_not_before_) {
        return;
    }
    offer_not_before_.reset();
    while (!kept_.empty() && offered_.take()) {
        const auto next = kept_.extract(kept_.begin());
        attempts_.at(next.value()).at = stage::landing;
        ++landing_;
        decisions_.emplace_back(member_decision::land_files{next.value()});
    }
}

void node_member::landed(const assignment_name& name, bool well, node_time now) {
    const auto found = attempts_.find(name);
    if (found == attempts_.end() || found->second.at != stage::landing) {
        return;
    }
    --landing_;
    if (well && talk_ == talk::joined) {
        found->second.at = stage::told;
        ++told_;
        decisions_.emplace_back(member_decision::say_ended{name});
    } else {
        static_cast<void>(offered_.give_back(1));
        keep(found);
        if (!well) {
            offer_not_before_ = now + rules_.offer_again;
        }
    }
    go_on(now);
}

void node_member::taken(const assignment_name& name, node_time now) {
    const auto found = attempts_.find(name);
    if (found == attempts_.end() || found->second.at == stage::making || found->second.at == stage::running) {
        return; // nobody can have taken what has not ended
    }
    dropped(name, now);
}

void node_member::dropped(const assignment_name& name, node_time now) {
    const auto found = attempts_.find(name);
    if (found == attempts_.end()) {
        return;
    }
    auto& one = found->second;
    switch (one.at) {
    case stage::running:
        if (!one.dropped && !one.stopped) {
            decisions_.emplace_back(member_decision::stop_run{name});
        }
        [[fallthrough]];
    case stage::making:
    case stage::writing:
        one.dropped = true;
        break;
    case stage::kept:
    case stage::landing:
    case stage::told:
        forget(found);
        break;
    }
    go_on(now);
}

void node_member::forget(attempts::iterator which) {
    switch (which->second.at) {
    case stage::kept:
        kept_.erase(which->first);
        break;
    case stage::landing:
        --landing_;
        static_cast<void>(offered_.give_back(1));
        break;
    case stage::told:
        --told_;
        static_cast<void>(offered_.give_back(1));
        break;
    case stage::making:
    case stage::running:
    case stage::writing:
        break; // nothing is counted of them any more
    }
    decisions_.emplace_back(member_decision::forget_run{which->first});
    attempts_.erase(which);
}

std::vector<assignment_name> node_member::being_made() const {
    std::vector<assignment_name> names;
    for (const auto& [name, one] : attempts_) {
        if (one.at == stage::making && !one.stopped && !one.dropped) {
            names.push_back(name);
        }
    }
    return names;
}

std::optional<lease_number> node_member::live_lease() const {
    return lease_ == lease_state::live ? std::optional(number_) : std::nullopt;
}

} // namespace chalk::actors
