/// How much of a stream may be under way: the sender takes credit for what it sends, the receiver gives it back for
/// what it has done with. So whichever side is slow, at most a window of it is in memory. CAF has no such bound of its
/// own. Pure. Units are the stream's: messages or bytes.
///
/// Owner: credit_window the sending actor of a stream, credit_return the receiving one; both end with the stream. The
/// window of a stream that is begun again is full again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

namespace chalk::actors {

class credit_window {
  public:
    /// A window of 0 is one of 1.
    explicit credit_window(std::uint64_t window) : window_(std::max<std::uint64_t>(window, 1)) {}

    /// May `amount` be sent now? True takes the credit. What is larger than the whole window goes alone.
    [[nodiscard]] bool take(std::uint64_t amount = 1) noexcept {
        if (out_ != 0 && (out_ >= window_ || amount > window_ - out_)) {
            return false;
        }
        out_ += amount;
        return true;
    }
    /// The receiver gives back. False when it was never given as much: it is broken or hostile, nothing is changed.
    [[nodiscard]] bool give_back(std::uint64_t amount) noexcept {
        if (amount > out_) {
            return false;
        }
        out_ -= amount;
        return true;
    }

    [[nodiscard]] std::uint64_t out() const noexcept { return out_; }
    [[nodiscard]] std::uint64_t window() const noexcept { return window_; }

  private:
    std::uint64_t window_;
    std::uint64_t out_ = 0;
};

class credit_return {
  public:
    explicit credit_return(std::uint64_t window) : window_(std::max<std::uint64_t>(window, 1)) {}

    /// A message of `amount` has come. False when the sender has sent more than its window: it is broken or hostile.
    [[nodiscard]] bool arrived(std::uint64_t amount = 1) noexcept {
        if (held_ != 0 && (held_ >= window_ || amount > window_ - held_)) {
            return false;
        }
        held_ += amount;
        return true;
    }
    /// `amount` of what has come is done with. What is to be given back now: nothing, until it is half of the window,
    /// so that not every message is answered; or all, when nothing is left to do.
    [[nodiscard]] std::uint64_t done(std::uint64_t amount = 1) noexcept {
        waiting_ = std::min(held_, waiting_ + std::min(amount, held_ - waiting_));
        if (waiting_ < (window_ + 1) / 2 && waiting_ != held_) {
            return 0;
        }
        held_ -= waiting_;
        return std::exchange(waiting_, 0);
    }
    /// Came and was not given back.
    [[nodiscard]] std::uint64_t held() const noexcept { return held_; }

  private:
    std::uint64_t window_;
    std::uint64_t held_ = 0;
    std::uint64_t waiting_ = 0; ///< done with, of what is held
};

} // namespace chalk::actors
