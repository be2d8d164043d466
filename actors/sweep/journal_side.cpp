#include "actors/sweep/journal_side.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

namespace {

void do_all(const std::vector<commit_queue::effect>& effects) {
    for (const auto& effect : effects) {
        effect();
    }
}

bool may_pass(journal::trouble why) {
    return why == journal::trouble::disk_full || why == journal::trouble::input_output || why == journal::trouble::busy;
}

} // namespace

journal_side::journal_side(sweep_actor::pointer self, std::optional<sweep_journal> settings,
                           std::function<void(const std::string&)> say)
    : self_(self), settings_(std::move(settings)), say_(std::move(say)), commits_(settings_.has_value()) {}

void journal_side::open() {
    if (!settings_) {
        return;
    }
    start();
    for (auto& record : std::exchange(settings_->first, {})) {
        commits_.add(std::move(record));
    }
}

void journal_side::start() {
    actor_ = spawn_journal(self_, *settings_, journal_client(sweep_actor(self_)));
    self_->monitor(actor_);
}

void journal_side::close() {
    if (actor_) {
        self_->demonitor(actor_.address());
        self_->send_exit(actor_, caf::exit_reason::user_shutdown);
    }
}

void journal_side::write() {
    do_all(commits_.free_effects());
    if (const auto batch = commits_.next()) {
        asked_ = true;
        self_->send(actor_, write_records{*batch});
    }
}

void journal_side::write_again() {
    if (blocked_ && !asked_) {
        send_again();
    }
}

void journal_side::send_again() {
    if (commits_.under_way()) {
        asked_ = true;
        self_->send(actor_, write_records{commits_.under_way()});
    }
}

result<void> journal_side::written(const records_written& m, bool may_wait) {
    asked_ = false;
    if (m.how) {
        if (std::exchange(blocked_, false)) {
            say_("the journal can be written again: runs start");
        }
        do_all(commits_.written());
        return {};
    }
    if (!may_pass(m.why) || !may_wait) {
        return m.how.error();
    }
    if (!std::exchange(blocked_, true)) {
        say_(fmt::format("{}: nothing starts and no outcome counts until it can be written; tried again every {} s",
                         m.how.error().message, retried_after.count()));
    }
    return {};
}

void journal_side::look_up(const std::vector<std::string>& runs, answer who) {
    lookups_.push_back(std::move(who));
    self_->send(actor_, look_up_runs{runs});
}

journal_side::answer journal_side::take_lookup() {
    if (lookups_.empty()) {
        return {};
    }
    auto first = std::move(lookups_.front());
    lookups_.pop_front();
    return first;
}

void journal_side::find(const find_assignment& what) {
    if (actor_) {
        self_->send(actor_, what);
    }
}

bool journal_side::is(const caf::actor_addr& who) const {
    return actor_ && who == actor_.address();
}

result<void> journal_side::died(const caf::error& reason) {
    asked_ = false;
    for (const auto& who : std::exchange(lookups_, {})) {
        who(harness_failure("the journal failed; try again"));
    }
    if (!restarts_.allow(self_->clock().now())) {
        return harness_failure("the journal failed too often: " + self_->system().render(reason));
    }
    start();
    send_again();
    return {};
}

} // namespace chalk::actors
