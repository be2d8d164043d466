/// Numbers that grow for ever, over restarts of the coordinator too: first by its epoch, then by a count within it. The
/// epoch is the number of processes that have opened the journal, the present one among them; it is durable before the
/// first number of it is given out, so nothing needs to be written for each number.
#pragma once

#include <compare>
#include <cstdint>

namespace chalk::actors {

template<class Of>
struct epoch_number {
    std::uint64_t epoch = 0;
    std::uint64_t count = 0; ///< from 1; 0 is before all of its epoch
    friend auto operator<=>(const epoch_number&, const epoch_number&) = default;
};

template<class Of>
class epoch_counter {
  public:
    explicit epoch_counter(std::uint64_t epoch) : last_{epoch, 0} {}

    [[nodiscard]] epoch_number<Of> next() noexcept {
        ++last_.count;
        return last_;
    }
    [[nodiscard]] const epoch_number<Of>& last() const noexcept { return last_; }

  private:
    epoch_number<Of> last_;
};

/// Names one lease. A node that joins anew gets a new one, so a late word about the old one is known as such.
using lease_number = epoch_number<struct of_leases>;
/// Names one assignment of a run's attempt to a node.
using fencing_token = epoch_number<struct of_assignments>;

} // namespace chalk::actors
