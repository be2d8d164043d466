#include "actors/sweep/sweep_plan.hpp"

namespace chalk::actors {

sweep_plan::sweep_plan(std::size_t cells, std::size_t runs_per_cell) : runs_(runs_per_cell) {
    counts_.total = cells * runs_per_cell;
}

std::optional<run_key> sweep_plan::next() {
    if (!again_.empty()) {
        const run_key run = again_.front();
        again_.pop_front();
        const auto node = losses_.extract(number(run));
        out_.emplace(number(run), node.mapped());
        counts_.out = out_.size();
        return run;
    }
    if (stopped_ || next_ == counts_.total) {
        return std::nullopt;
    }
    const run_key run{next_ / runs_, next_ % runs_};
    ++next_;
    out_.emplace(number(run), 0);
    counts_.out = out_.size();
    return run;
}

bool sweep_plan::finished(run_key run, outcome_status status, std::optional<double> score) {
    if (out_.erase(number(run)) == 0) {
        return false;
    }
    counts_.out = out_.size();
    switch (status) {
    case outcome_status::passed:
        ++counts_.passed;
        break;
    case outcome_status::failed:
        ++counts_.failed;
        break;
    case outcome_status::error:
        ++counts_.errors;
        break;
    case outcome_status::cancelled:
        ++counts_.cancelled;
        break;
    }
    if (score) {
        counts_.score_sum += *score;
        ++counts_.scored;
    }
    return true;
}

sweep_plan::after_loss sweep_plan::lost(run_key run) {
    const auto found = out_.find(number(run));
    if (found == out_.end()) {
        return after_loss::not_out;
    }
    const std::uint32_t losses = found->second + 1;
    out_.erase(found);
    counts_.out = out_.size();
    if (stopped_ || losses >= max_node_losses) {
        ++counts_.errors;
        return after_loss::give_up;
    }
    losses_.emplace(number(run), losses);
    again_.push_back(run);
    return after_loss::again;
}

std::size_t sweep_plan::stop() {
    if (stopped_) {
        return 0;
    }
    stopped_ = true;
    const std::size_t never_started = counts_.total - next_ + again_.size();
    next_ = counts_.total;
    again_.clear();
    losses_.clear();
    counts_.cancelled += never_started;
    return never_started;
}

} // namespace chalk::actors
