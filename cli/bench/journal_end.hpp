/// Waits for the end of a sweep's journal.
#pragma once

#include "actors/sweep/interfaces.hpp"
#include "protocol/journal/journal_file.hpp"

#include <chrono>
#include <future>
#include <memory>
#include <mutex>

namespace chalk::cli::bench {

class journal_end {
  public:
    /// For sweep_journal::closed. A journal actor that was started again closes the file twice; the first time counts.
    [[nodiscard]] std::function<void(const journal::journal_file::figures&)> listener() {
        return [state = state_](const journal::journal_file::figures& f) {
            std::call_once(state->once, [&] { state->figures.set_value(f); });
        };
    }

    /// Once. error_class::harness: it was never open.
    [[nodiscard]] result<journal::journal_file::figures> wait() {
        auto written = state_->figures.get_future();
        if (written.wait_for(patience) != std::future_status::ready) {
            return harness_failure("the journal was not closed");
        }
        return written.get();
    }

  private:
    static constexpr std::chrono::seconds patience{10};
    struct shared {
        std::once_flag once;
        std::promise<journal::journal_file::figures> figures;
    };
    std::shared_ptr<shared> state_ = std::make_shared<shared>();
};

} // namespace chalk::cli::bench
