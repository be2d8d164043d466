#include "protocol/store/chunk_outbox.hpp"

#include <fmt/format.h>

namespace chalk::store {

result<void> chunk_outbox::want(const want_chunks& asked) {
    if (asked.chunks.size() > max_waiting - waiting_.size()) {
        return harness_failure(fmt::format("more than {} chunks are wanted at once", max_waiting));
    }
    if (asked.credits > max_credits - credits_) {
        return harness_failure(fmt::format("more than {} credits are granted at once", max_credits));
    }
    credits_ += asked.credits;
    for (const auto& chunk : asked.chunks) {
        waiting_.push_back({asked.tree, chunk});
    }
    return {};
}

std::optional<chunk_outbox::item> chunk_outbox::next() {
    if (waiting_.empty() || credits_ == 0) {
        return std::nullopt;
    }
    --credits_;
    const auto first = waiting_.front();
    waiting_.pop_front();
    return first;
}

} // namespace chalk::store
