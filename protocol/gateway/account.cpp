#include "protocol/gateway/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::gateway {

namespace {

std::string_view bare(std::string_view full) {
    return full.substr(full.find('/') + 1);
}

} // namespace

json to_json(const spending& spent) {
    return {{"requests", spent.requests},
            {"retries", spent.retries},
            {"refused", spent.refused},
            {"estimated", spent.estimated},
            {"usage",
             {{"input", spent.tokens.input},
              {"cached", spent.tokens.cached},
              {"output", spent.tokens.output},
              {"reasoning", spent.tokens.reasoning}}},
            {"usd", spent.usd ? json(*spent.usd) : json()}};
}

json to_wire(const spending& spent) {
    auto out = to_json(spent);
    out["waited_ms"] = spent.waited.count();
    out["context_tokens"] = spent.context_tokens;
    return out;
}

result<spending> from_wire(const json& value) {
    try {
        spending spent;
        spent.requests = value.at("requests").get<std::uint64_t>();
        const auto& usage = value.at("usage");
        spent.tokens.input = usage.at("input").get<std::uint64_t>();
        spent.tokens.output = usage.at("output").get<std::uint64_t>();
        spent.usd = value.at("usd").is_null() ? std::nullopt : std::optional(value.at("usd").get<double>());
        spent.waited = milliseconds(value.at("waited_ms").get<std::int64_t>());
        spent.context_tokens = value.at("context_tokens").get<std::uint64_t>();
        return spent;
    } catch (const json::exception& why) {
        return model_failure(fmt::format("the gateway's word on what the run has spent: {}", why.what()));
    }
}

std::string describe(const spending& spent) {
    auto text = fmt::format("{} model calls, {} tried again, {} tokens in ({} cached), {} out ({} reasoning), {}",
                            spent.requests, spent.retries, spent.tokens.input, spent.tokens.cached, spent.tokens.output,
                            spent.tokens.reasoning,
                            spent.usd ? fmt::format("{:.4f} USD", *spent.usd) : std::string("price not known"));
    if (spent.estimated > 0) {
        text += fmt::format("; usage of {} estimated", spent.estimated);
    }
    if (spent.refused > 0) {
        text += fmt::format("; {} refused", spent.refused);
    }
    return text;
}

answer<std::string> account::admit(const call& what) {
    const std::lock_guard lock(mutex_);
    const auto allowed = std::find_if(settings_.models.begin(), settings_.models.end(), [&](const std::string& full) {
        return (what.full_model.empty() || what.full_model == full) && what.model == bare(full);
    });
    if (allowed == settings_.models.end()) {
        ++spent_.refused;
        return refusal{403, "model_not_allowed",
                       fmt::format("this run may not ask the model \"{}\"; its config allows {}",
                                   what.full_model.empty() ? what.model : what.full_model,
                                   fmt::join(settings_.models, ", "))};
    }
    if (auto over = over_budget()) {
        ++spent_.refused;
        return *over;
    }
    return *allowed;
}

std::optional<refusal> account::over_budget() const {
    const auto& budget = settings_.budget;
    const auto tokens = spent_.tokens.input + spent_.tokens.output;
    if (budget.tokens && tokens >= *budget.tokens) {
        return refusal{
            402, "token_budget_exhausted",
            fmt::format("the run has used {} tokens, its limits.max_run_total_tokens is {}", tokens, *budget.tokens)};
    }
    if (budget.usd && (!spent_.usd || *spent_.usd >= *budget.usd)) {
        return refusal{402, "usd_budget_exhausted",
                       spent_.usd ? fmt::format("the run has spent {:.4f} USD, its limits.max_run_usd is {}",
                                                *spent_.usd, *budget.usd)
                                  : std::string("the run has limits.max_run_usd, and its model's price is not known")};
    }
    return std::nullopt;
}

void account::spend(const counted_tokens& count, bool estimated, const model_price* price) {
    std::unique_lock lock(mutex_);
    spent_.context_tokens = count.tokens.input + count.tokens.output;
    largest_context_ = std::max(largest_context_.value_or(0), spent_.context_tokens);
    ++spent_.requests;
    spent_.estimated += estimated ? 1 : 0;
    spent_.tokens.input += count.tokens.input;
    spent_.tokens.cached += count.tokens.cached;
    spent_.tokens.output += count.tokens.output;
    spent_.tokens.reasoning += count.tokens.reasoning;
    if (price == nullptr) {
        spent_.usd.reset();
    } else if (spent_.usd) {
        *spent_.usd += price->usd(count);
    }
    const spending so_far = spent_;
    lock.unlock();
    if (hear_) {
        hear_(so_far);
    }
}

void account::retried() {
    const std::lock_guard lock(mutex_);
    ++spent_.retries;
}

std::uint64_t account::next_ordinal(const std::string& digest) {
    const std::lock_guard lock(mutex_);
    return ordinals_[digest]++;
}

void account::begin_wait(time_point began) {
    const std::lock_guard lock(mutex_);
    waits_.push_back(began);
}

void account::end_wait(time_point began, time_point now) {
    const std::lock_guard lock(mutex_);
    if (const auto found = std::find(waits_.begin(), waits_.end(), began); found != waits_.end()) {
        waits_.erase(found);
        spent_.waited += std::chrono::duration_cast<milliseconds>(now - began);
    }
}

spending account::so_far(time_point now) const {
    const std::lock_guard lock(mutex_);
    auto all = spent_;
    for (const auto began : waits_) {
        all.waited += std::chrono::duration_cast<milliseconds>(now - began);
    }
    return all;
}

spending account::tell(time_point now) {
    auto told = so_far(now);
    const std::lock_guard lock(mutex_);
    told.context_tokens = std::exchange(largest_context_, std::nullopt).value_or(told.context_tokens);
    return told;
}

} // namespace chalk::gateway
