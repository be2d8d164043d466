/// Bounds how many log lines a second an environment may cause; what is dropped is counted and said. Pure: the caller
/// brings the time.
#pragma once

#include <chrono>
#include <cstdint>

namespace chalk::environment {

class log_rate {
  public:
    using time_point = std::chrono::steady_clock::time_point;

    explicit log_rate(std::uint32_t lines_a_second) : limit_(lines_a_second) {}

    struct verdict {
        bool admit = false;
        std::uint64_t dropped_before = 0; ///< lines dropped since the last admitted one; say so before this line
    };

    [[nodiscard]] verdict on_line(time_point now) {
        if (now - window_start_ >= std::chrono::seconds{1}) {
            window_start_ = now;
            in_window_ = 0;
        }
        if (in_window_ >= limit_) {
            ++dropped_;
            return {};
        }
        ++in_window_;
        return {true, take_dropped()};
    }

    /// Lines dropped since the last admitted one; for the end of the stream.
    [[nodiscard]] std::uint64_t take_dropped() noexcept {
        auto n = dropped_;
        dropped_ = 0;
        return n;
    }

  private:
    std::uint32_t limit_;
    std::uint32_t in_window_ = 0;
    std::uint64_t dropped_ = 0;
    time_point window_start_{};
};

} // namespace chalk::environment
