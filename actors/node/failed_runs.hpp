/// Runs that ended in an error and are not reported yet: the node is measured once more first, so that the sweep hears
/// with each of them whether the node was short of something when it ended. Pure.
///
/// Owner: the node actor; dies with it, and its runs then are lost with their node.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace chalk::actors {

template<class Result>
class failed_runs {
  public:
    struct told {
        Result what;
        bool node_was_short = false;
    };

    /// `what` ended before measure number `measure` begins; measures are counted up. `is_short`: as the last one said.
    void add(Result what, std::uint64_t measure, bool is_short) {
        waiting_.push_back({{std::move(what), is_short}, measure, 0});
    }

    /// Measure number `measure` has ended. Returns those that waited for it.
    [[nodiscard]] std::vector<told> measured(std::uint64_t measure, bool is_short) {
        return take([&](entry& one) {
            one.run.node_was_short = one.run.node_was_short || is_short;
            return one.measure <= measure;
        });
    }

    /// Called at even intervals. Returns those that have waited for one of them in full: a disk that does not answer
    /// must not hold an outcome for ever.
    [[nodiscard]] std::vector<told> interval_passed() {
        return take([](entry& one) { return ++one.intervals > 1; });
    }

  private:
    struct entry {
        told run;
        std::uint64_t measure = 0;
        std::size_t intervals = 0;
    };

    template<class Ready>
    std::vector<told> take(Ready ready) {
        std::vector<told> out;
        std::vector<entry> left;
        for (auto& one : waiting_) {
            if (ready(one)) {
                out.push_back(std::move(one.run));
            } else {
                left.push_back(std::move(one));
            }
        }
        waiting_ = std::move(left);
        return out;
    }

    std::vector<entry> waiting_;
};

} // namespace chalk::actors
