/// One run's account with the gateway: which models it may ask, what it may spend, and what it has spent. It outlives
/// the gateway, so that a restart gives nobody a new budget.
///
/// Owner: the run's record on the node. Thread-safe.
#pragma once

#include "protocol/gateway/prices.hpp"
#include "protocol/gateway/routes.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

namespace chalk::gateway {

struct run_budget {
    std::optional<std::uint64_t> tokens; ///< input and output of all calls ("max_run_total_tokens")
    std::optional<double> usd;           ///< "max_run_usd"
};

struct account_settings {
    std::vector<std::string> models; ///< by their full names; the first one is meant where a client names none
    std::string base_url;            ///< model_args.base_url; empty: none
    run_budget budget;
    std::string seed; ///< of recordings: the same for the same run of another sweep ("0-3")
};

/// What a run has spent.
struct spending {
    std::uint64_t requests = 0; ///< answered by a provider
    std::uint64_t retries = 0;
    std::uint64_t refused = 0;
    std::uint64_t estimated = 0; ///< answers whose usage had to be estimated
    token_usage tokens;
    std::optional<double> usd; ///< absent when the price of a model that was asked is not known
    // For the run's harness alone, which keeps the limits on them:
    milliseconds waited{0};           ///< for answers, those under way too; of calls at the same time, each one's
    std::uint64_t context_tokens = 0; ///< input and output of the last answer, or of the largest (account::tell)
};

/// {"requests":1,"retries":0,...,"usd":0.5}: "gateway" of a transcript.
[[nodiscard]] json to_json(const spending& spent);

/// What the harness is told: the same with "waited_ms" and "context_tokens", and back. Reading: error_class::model with
/// the field that is wrong.
[[nodiscard]] json to_wire(const spending& spent);
[[nodiscard]] result<spending> from_wire(const json& value);

/// One line for a person: "3 model calls, 1 tried again, 90 tokens in (10 cached), 20 out (0 reasoning), 0.0110 USD".
[[nodiscard]] std::string describe(const spending& spent);

class account {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit account(account_settings settings) : settings_(std::move(settings)) { spent_.usd = 0; }

    /// The model of a call, by its full name. Refused: 403 model_not_allowed, 402 token_budget_exhausted and
    /// usd_budget_exhausted.
    [[nodiscard]] answer<std::string> admit(const call& what);

    /// One answer of a model, not of a call that only counts. `price` is null where none is known.
    void spend(const counted_tokens& count, bool estimated, const model_price* price);
    /// A call is under way from `began` on, whatever comes of it; both once a call.
    void begin_wait(time_point began);
    void end_wait(time_point began, time_point now);
    void retried();

    /// Called after each spend(), on its thread, with what has been spent so far; must not block. Before the first one.
    void on_spending(std::function<void(const spending&)> hear) { hear_ = std::move(hear); }

    /// How often this run has asked for exactly this before: 0, 1, ...
    [[nodiscard]] std::uint64_t next_ordinal(const std::string& digest);

    [[nodiscard]] spending so_far(time_point now = std::chrono::steady_clock::now()) const;
    /// The same for the run's harness, which looks now and then: with the largest context since it looked last (the
    /// last one's where nothing was asked since), so that no small call hides one from its limit.
    [[nodiscard]] spending tell(time_point now = std::chrono::steady_clock::now());
    [[nodiscard]] const std::string& base_url() const noexcept { return settings_.base_url; }
    [[nodiscard]] const std::string& seed() const noexcept { return settings_.seed; }

  private:
    [[nodiscard]] std::optional<refusal> over_budget() const;

    const account_settings settings_;
    std::function<void(const spending&)> hear_;
    mutable std::mutex mutex_;
    spending spent_;
    std::optional<std::uint64_t> largest_context_; ///< of the answers since tell()
    std::vector<time_point> waits_;                ///< of the calls under way, when they began
    std::unordered_map<std::string, std::uint64_t> ordinals_;
};

} // namespace chalk::gateway
