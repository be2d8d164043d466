#include "actors/sweep/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::actors {

namespace {

constexpr schedule::clock::time_point due_now{}; ///< due since the machine was started

} // namespace

schedule::schedule(std::uint64_t cells, cell_source source, schedule_rules rules, resume_state before)
    : source_(std::move(source)), rules_(std::move(rules)), before_(std::move(before)), counts_(before_.counted) {
    counts_.total = cells * rules_.repeats;
    if (rules_.breaker.max_errors && rules_.breaker.scope == config::breaker_scope::sweep) {
        breaker_.emplace(*rules_.breaker.max_errors - 1, rules_.breaker.window);
    }
    for (const auto& [run, was] : before_.open) {
        if (was.alive) {
            out_.emplace(run,
                         out_run{was.attempts + 1, was.last_attempt, was.node_losses, was.shortages, was.requeued});
            ++open_[run.cell].out;
            continue;
        }
        if (rules_.stop.first_pass && !was.requeued && before_.passed_cells.contains(run.cell)) {
            skip(run, false);
            continue;
        }
        // Charged attempts are kept: a run that killed chalk itself does not get new ones for ever.
        ++open_[run.cell].waiting_retries;
        retries_.emplace(due_now,
                         retry{run, was.attempts, was.last_attempt + 1, was.node_losses, was.shortages, was.requeued});
    }
    counts_.out = out_.size();
}

void schedule::open_cells() {
    while (!all_opened_ && fresh_.size() < rules_.open_cells) {
        const auto number = source_(next_cell_);
        if (!number) {
            all_opened_ = true;
            return;
        }
        next_cell_ = *number + 1;
        cell& c = open_[*number];
        if (rules_.breaker.max_errors && rules_.breaker.scope == config::breaker_scope::cell) {
            c.breaker.emplace(*rules_.breaker.max_errors - 1, rules_.breaker.window);
        }
        if (rules_.stop.first_pass && before_.passed_cells.contains(*number)) {
            close_cell(*number, false);
        }
        if (skip_closed(*number, c)) {
            file_cell(*number);
        }
        drop_if_done(*number);
    }
}

/// Moves on to the cell's next run that has no outcome and was not started before. False: there is none.
bool schedule::skip_closed(std::uint64_t number, cell& c) {
    while (!c.closed && c.next_repeat < rules_.repeats) {
        const run_key run{number, c.next_repeat};
        if (!(before_.closed && before_.closed(run)) && !before_.open.contains(run)) {
            return true;
        }
        ++c.next_repeat;
    }
    return false;
}

void schedule::file_cell(std::uint64_t number) {
    const cell& c = open_.at(number);
    if (!c.closed && c.next_repeat < rules_.repeats) {
        fresh_.emplace(c.out, number);
    }
}

void schedule::change_out(std::uint64_t number, int by) {
    cell& c = open_.at(number);
    fresh_.erase({c.out, number});
    c.out = by > 0 ? c.out + 1 : c.out - 1;
    file_cell(number);
    counts_.out = out_.size();
}

void schedule::drop_if_done(std::uint64_t number) {
    const auto found = open_.find(number);
    if (found == open_.end()) {
        return;
    }
    const cell& c = found->second;
    const bool opened = number < next_cell_;
    if (opened && c.out == 0 && c.waiting_retries == 0 && (c.closed || c.next_repeat >= rules_.repeats)) {
        open_.erase(found);
    }
}

void schedule::skip(run_key run, bool broken) {
    ++counts_.skipped;
    if (broken) {
        ++counts_.broken;
    } else if (!passed_over_.empty() && passed_over_.back().cell == run.cell && passed_over_.back().to == run.index) {
        ++passed_over_.back().to;
    } else {
        passed_over_.push_back({run.cell, run.index, run.index + 1});
    }
}

std::vector<run_key> schedule::take_passed_over(std::size_t most) {
    std::vector<run_key> out;
    while (out.size() < most && !passed_over_.empty()) {
        auto& next = passed_over_.front();
        out.push_back({next.cell, next.from++});
        if (next.from == next.to) {
            passed_over_.pop_front();
        }
    }
    return out;
}

/// Its runs that were not started are skipped; those out end as they may. It is `broken`, or has passed.
void schedule::close_cell(std::uint64_t number, bool broken) {
    cell& c = open_.at(number);
    if (c.closed) {
        return;
    }
    fresh_.erase({c.out, number});
    while (skip_closed(number, c)) {
        skip({number, c.next_repeat}, broken);
        ++c.next_repeat;
    }
    c.closed = true;
    c.broken = broken;
    closed_some_ = closed_some_ || c.out > 0;
    for (auto r = retries_.begin(); r != retries_.end();) {
        if (r->second.run.cell == number && !r->second.requeued) {
            --c.waiting_retries;
            skip(r->second.run, broken);
            r = retries_.erase(r);
        } else {
            ++r;
        }
    }
}

std::optional<schedule::assignment> schedule::next_fresh() {
    open_cells();
    if (fresh_.empty()) {
        return std::nullopt;
    }
    const std::uint64_t number = fresh_.begin()->second;
    cell& c = open_.at(number);
    const run_key run{number, c.next_repeat};
    fresh_.erase(fresh_.begin());
    ++c.next_repeat;
    static_cast<void>(skip_closed(number, c));
    out_.emplace(run, out_run{1, 1, 0, 0, false});
    change_out(number, 1);
    return assignment{run, 1};
}

std::optional<schedule::assignment> schedule::next(clock::time_point now) {
    if (stopped_) {
        return std::nullopt;
    }
    if (auto fresh = next_fresh()) {
        return fresh;
    }
    if (retries_.empty() || retries_.begin()->first > now) {
        return std::nullopt;
    }
    const retry again = retries_.begin()->second;
    retries_.erase(retries_.begin());
    out_.emplace(again.run, out_run{again.charged + 1, again.attempt, again.losses, again.shortages, again.requeued});
    --open_.at(again.run.cell).waiting_retries;
    change_out(again.run.cell, 1);
    return assignment{again.run, again.attempt};
}

void schedule::put_back(const assignment& what, bool used) {
    const auto found = out_.extract(what.run);
    if (!found) {
        return;
    }
    change_out(what.run.cell, -1);
    const out_run& was = found.mapped();
    if (const cell& c = open_.at(what.run.cell); c.closed && !was.requeued) {
        skip(what.run, c.broken);
        drop_if_done(what.run.cell);
        return;
    }
    wait_for_retry({what.run, was.charged - 1, was.attempt + (used ? 1 : 0), was.losses, was.shortages, was.requeued},
                   due_now);
}

std::optional<schedule::clock::time_point> schedule::next_retry() const {
    return stopped_ || retries_.empty() ? std::nullopt : std::optional(retries_.begin()->first);
}

void schedule::wait_for_retry(retry what, clock::time_point due) {
    ++open_.at(what.run.cell).waiting_retries;
    retries_.emplace(due, what);
}

void schedule::count(const outcome& how, std::optional<double> score, int by) {
    const auto change = [by](std::uint64_t& figure) { figure = by > 0 ? figure + 1 : figure - 1; };
    switch (how.status) {
    case outcome_status::passed:
        change(counts_.passed);
        break;
    case outcome_status::failed:
        change(counts_.failed);
        break;
    case outcome_status::error:
        change(counts_.errors);
        change(counts_.errors_by_class.at(static_cast<std::size_t>(how.kind.value_or(error_class::harness))));
        break;
    case outcome_status::cancelled:
        change(counts_.cancelled);
        break;
    }
    if (score) {
        counts_.score_sum += by * *score;
        change(counts_.scored);
    }
}

schedule::verdict schedule::finished(run_key run, const outcome& how, std::optional<double> score,
                                     clock::time_point now, bool node_was_short) {
    const bool cut_off = sealed();
    const auto found = out_.extract(run);
    if (!found) {
        return verdict::unknown;
    }
    change_out(run.cell, -1);
    const out_run was = found.mapped();
    const cell& its = open_.at(run.cell);
    const bool goes_on = !its.closed || was.requeued;
    verdict said = verdict::counts;
    if (how.status == outcome_status::error && node_was_short && !cut_off && forgives(was, how)) {
        if (goes_on) {
            wait_for_retry({run, was.charged - 1, was.attempt + 1, was.losses, was.shortages + 1, was.requeued},
                           now + backoff(was.charged + was.shortages));
        } else {
            skip(run, its.broken);
        }
        said = verdict::forgiven;
    } else if (how.status == outcome_status::error) {
        note_error(run, now); // which may close the cell
        const bool again = !stopped_ && !cut_off && (!its.closed || was.requeued) &&
                           was.charged < rules_.retry.max_attempts &&
                           std::ranges::find(rules_.retry.on, *how.kind) != rules_.retry.on.end();
        if (again) {
            wait_for_retry({run, was.charged, was.attempt + 1, was.losses, was.shortages, was.requeued},
                           now + backoff(was.charged));
            ++counts_.retries;
            said = verdict::retried;
        }
    } else if (how.status == outcome_status::cancelled && stopped_ && !rules_.cancelled_counts) {
        said = verdict::returned;
    }
    if (said == verdict::counts) {
        count(how, score, 1);
        apply_stop_rules(run, how);
    }
    drop_if_done(run.cell);
    return said;
}

/// Errors that a lack of disk, inodes, descriptors or processes can cause: of what starts and writes, of the
/// environment's own program, of the way to a model. What a config, a budget or a deadline says stays true with more
/// room.
bool schedule::forgives(const out_run& was, const outcome& how) const {
    constexpr std::array may_come_of_it{error_class::image, error_class::sandbox, error_class::harness,
                                        error_class::task, error_class::model};
    return was.shortages < rules_.max_shortages && how.kind &&
           std::ranges::find(may_come_of_it, *how.kind) != may_come_of_it.end();
}

/// Before the next attempt of a run that has failed so often.
milliseconds schedule::backoff(std::uint32_t failures) const {
    const auto doublings = std::min<std::uint32_t>(failures - 1, 20);
    return std::min(rules_.retry.max_backoff, rules_.retry.backoff * (std::int64_t{1} << doublings));
}

void schedule::note_error(run_key run, clock::time_point now) {
    if (breaker_ && !breaker_->allow(now)) {
        stop(fmt::format("the breaker opened: {} attempts ended in error within {} s", *rules_.breaker.max_errors,
                         rules_.breaker.window.count() / 1000));
    }
    cell& c = open_.at(run.cell);
    if (c.breaker && !c.closed && !c.breaker->allow(now)) {
        close_cell(run.cell, true);
        notices_.push_back(fmt::format("cell {}: the breaker opened: {} attempts ended in error within {} s; "
                                       "it starts nothing more",
                                       run.cell, *rules_.breaker.max_errors, rules_.breaker.window.count() / 1000));
    }
}

void schedule::apply_stop_rules(run_key run, const outcome& how) {
    if (how.status == outcome_status::passed && rules_.stop.first_pass) {
        close_cell(run.cell, false);
    }
    if (rules_.stop.max_errors && counts_.errors >= *rules_.stop.max_errors) {
        stop(fmt::format("{} runs ended in error (stop.max_errors {})", counts_.errors, *rules_.stop.max_errors));
    }
    const std::uint64_t ended = counts_.ended();
    if (rules_.stop.max_error_rate && ended >= rules_.stop.after_runs &&
        static_cast<double>(counts_.errors) > *rules_.stop.max_error_rate * static_cast<double>(ended)) {
        stop(fmt::format("{} of {} runs ended in error (stop.max_error_rate {})", counts_.errors, ended,
                         *rules_.stop.max_error_rate));
    }
}

schedule::after_loss schedule::lost(run_key run, clock::time_point now) {
    const auto found = out_.extract(run);
    if (!found) {
        return after_loss::unknown;
    }
    change_out(run.cell, -1);
    const out_run& was = found.mapped();
    const std::uint32_t losses = was.losses + 1;
    after_loss said = after_loss::again;
    if (losses >= max_node_losses) {
        count(outcome::error(error_class::node_lost, {}), std::nullopt, 1);
        said = after_loss::give_up;
    } else {
        wait_for_retry({run, was.charged - 1, was.attempt + 1, losses, was.shortages, was.requeued}, now);
    }
    drop_if_done(run.cell);
    return said;
}

bool schedule::requeue(run_key run, std::uint32_t last_attempt, const std::optional<outcome>& how,
                       std::optional<double> score) {
    const bool waits =
        std::any_of(retries_.begin(), retries_.end(), [&](const auto& r) { return r.second.run == run; });
    if (out_.contains(run) || waits) {
        return false;
    }
    if (how) {
        count(*how, score, -1);
    } else {
        --counts_.skipped;
    }
    cell& c = open_[run.cell];
    if (run.cell < next_cell_ && c.out == 0 && c.waiting_retries == 0 && !fresh_.contains({0, run.cell})) {
        c.next_repeat = rules_.repeats; // it was done and had been let go
    }
    wait_for_retry({run, 0, last_attempt + 1, 0, 0, true}, due_now);
    return true;
}

void schedule::stop(std::string why) {
    if (stopped_) {
        return;
    }
    stopped_ = std::move(why);
    if (rules_.cancelled_counts) {
        counts_.cancelled += counts_.not_started();
    }
}

bool schedule::sealed() const noexcept {
    return rules_.seal_at && !out_.empty() && fresh_.empty() && retries_.empty() && all_opened_ && !stopped_ &&
           static_cast<double>(counts_.ended() + counts_.skipped) >=
               *rules_.seal_at * static_cast<double>(counts_.total);
}

bool schedule::complete() const noexcept {
    return out_.empty() && (stopped_ || (all_opened_ && fresh_.empty() && retries_.empty()));
}

std::vector<std::string> schedule::take_notices() {
    return std::exchange(notices_, {});
}

std::size_t with_slack(std::size_t at_once) {
    return at_once + std::max<std::size_t>(16, at_once / 4);
}

schedule one_cell(std::uint64_t runs) {
    schedule_rules rules;
    rules.repeats = runs;
    rules.cancelled_counts = true;
    rules.max_shortages = 0; // one attempt, whose transcript is the run's: there is no second place to keep another
    const auto first = [](std::uint64_t from) { return from == 0 ? std::optional(from) : std::nullopt; };
    return {1, first, std::move(rules)};
}

} // namespace chalk::actors
