/// What waits for the journal: records in order, each with what may happen once it is durable. One batch is under way
/// at a time and the next one collects meanwhile, so the faster runs come and go, the more of them share one sync.
/// Pure. Without a journal everything is durable at once.
///
/// Owner: the sweep actor.
#pragma once

#include "protocol/journal/records.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace chalk::actors {

class commit_queue {
  public:
    using effect = std::function<void()>;
    using batch = std::shared_ptr<const std::vector<journal::record>>;

    explicit commit_queue(bool has_journal) : has_journal_(has_journal) {}

    void add(journal::record what) {
        if (has_journal_) {
            records_.push_back(std::move(what));
        }
    }
    /// Happens when everything that was added before is durable.
    void then(effect what) { effects_.push_back(std::move(what)); }

    /// What can happen without a write: everything when there is no journal, else what follows on no record.
    [[nodiscard]] std::vector<effect> free_effects() {
        return records_.empty() && !under_way_ ? std::exchange(effects_, {}) : std::vector<effect>{};
    }
    /// The next batch to write, once the one before is done.
    [[nodiscard]] std::optional<batch> next() {
        if (under_way_ || records_.empty()) {
            return std::nullopt;
        }
        under_way_ = std::make_shared<const std::vector<journal::record>>(std::exchange(records_, {}));
        waiting_ = std::exchange(effects_, {});
        return under_way_;
    }
    /// The batch under way is durable: what may happen now.
    [[nodiscard]] std::vector<effect> written() {
        under_way_ = nullptr;
        return std::exchange(waiting_, {});
    }
    /// The batch under way, to be written again; null: none is.
    [[nodiscard]] const batch& under_way() const noexcept { return under_way_; }
    [[nodiscard]] bool idle() const noexcept { return !under_way_ && records_.empty() && effects_.empty(); }

  private:
    bool has_journal_;
    std::vector<journal::record> records_;
    std::vector<effect> effects_;
    batch under_way_;
    std::vector<effect> waiting_;
};

} // namespace chalk::actors
