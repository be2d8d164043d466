/// What happens when, in virtual time: things that are due at the same moment happen in the order in which they were
/// asked for. One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace chalk::cli::bench {

class virtual_time {
  public:
    using moment = std::chrono::nanoseconds; ///< since the start
    using task = std::function<void()>;

    [[nodiscard]] moment now() const noexcept { return now_; }

    /// At `when`, or now if that is past.
    void at(moment when, task what) {
        due_.push_back({std::max(when, now_), ++last_, std::move(what)});
        std::push_heap(due_.begin(), due_.end(), comes_later);
    }
    void after(moment wait, task what) { at(now_ + wait, std::move(what)); }

    /// Does the next thing. False: there is none.
    bool step() {
        if (due_.empty()) {
            return false;
        }
        std::pop_heap(due_.begin(), due_.end(), comes_later);
        const auto what = std::move(due_.back());
        due_.pop_back();
        now_ = what.when;
        what.done();
        return true;
    }

  private:
    struct entry {
        moment when;
        std::uint64_t number;
        task done;
    };
    static bool comes_later(const entry& a, const entry& b) {
        return std::pair(a.when, a.number) > std::pair(b.when, b.number);
    }

    moment now_{0};
    std::uint64_t last_ = 0;
    std::vector<entry> due_;
};

} // namespace chalk::cli::bench
