/// A watcher that hears nothing but the end.
#pragma once

#include "actors/run/run_order.hpp"
#include "actors/sweep/schedule.hpp"

#include <future>
#include <optional>
#include <string>

namespace chalk::cli::bench {

class silent_watcher final : public actors::watcher {
  public:
    [[nodiscard]] bool wants_events() const noexcept override { return false; }
    void run_began(const actors::run_order&) override {}
    void run_event(const actors::run_order&, const event_ptr&) override {}
    void run_prepared(const actors::run_order&) override {}
    void run_finished(const actors::run_result&, const actors::sweep_counts&) override {}
    void attempt_finished(const actors::run_result&, const actors::sweep_counts&) override {}
    void sweep_said(const std::string&) override {}
    void sweep_finished(const actors::sweep_counts& counts, const std::optional<failure>& trouble) override {
        if (trouble) {
            end_.set_value(*trouble);
        } else {
            end_.set_value(counts);
        }
    }
    /// Once.
    [[nodiscard]] std::future<result<actors::sweep_counts>> end() { return end_.get_future(); }

  private:
    std::promise<result<actors::sweep_counts>> end_;
};

} // namespace chalk::cli::bench
