/// What one node has, what its runs have been promised, and who waits. Pure: the node actor asks it and does what it
/// says. Promises are kept in order of arrival: a small run never overtakes a big one, so none waits for ever.
///
/// Owner: the node actor; dies with it, and with it every promise.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <unordered_map>
#include <vector>

namespace chalk::actors {

/// An amount of everything that a node can run out of.
struct resources {
    bytes memory;
    bytes disk;
    std::uint32_t processes = 0;
    std::uint32_t milli_cpus = 0; ///< thousandths of a cpu
    std::uint32_t open_files = 0; ///< descriptors of the chalk process itself

    friend bool operator==(const resources&, const resources&) = default;
};

/// Names one reservation; the node counts them up.
enum class ticket : std::uint64_t {};

enum class admission { admitted, queued };

class ledger {
  public:
    /// `max_runs` caps how many are admitted at once, whatever they need.
    explicit ledger(resources capacity, std::optional<std::size_t> max_runs = std::nullopt);

    /// Admits, queues, or refuses for good: error_class::config names the resource, what the run asks and what the node
    /// has. A ticket is asked for once.
    [[nodiscard]] result<admission> request(ticket who, const resources& wanted);

    /// A new cap on how many are admitted at once; those that are admitted stay. Returns those that are admitted now.
    [[nodiscard]] std::vector<ticket> set_max_runs(std::optional<std::size_t> runs);
    /// While closed, nobody is let in; requests queue. Returns those that are admitted now.
    [[nodiscard]] std::vector<ticket> set_closed(bool closed);

    /// Gives back what `who` holds, or takes it out of the queue. Returns those that are admitted now, in order.
    /// Unknown tickets change nothing.
    [[nodiscard]] std::vector<ticket> release(ticket who);

    [[nodiscard]] const resources& capacity() const noexcept { return capacity_; }
    [[nodiscard]] const resources& used() const noexcept { return used_; }
    [[nodiscard]] std::size_t admitted() const noexcept { return admitted_.size(); }
    [[nodiscard]] std::size_t waiting() const noexcept { return queue_.size(); }

  private:
    struct waiting_run {
        ticket who;
        resources wanted;
    };

    [[nodiscard]] bool fits(const resources& wanted) const noexcept;
    void admit(ticket who, const resources& wanted);
    [[nodiscard]] std::vector<ticket> let_in();

    resources capacity_;
    std::optional<std::size_t> max_runs_;
    bool closed_ = false;
    resources used_;
    std::unordered_map<ticket, resources> admitted_;
    std::deque<waiting_run> queue_;
};

/// `capacity` with memory and cpus multiplied: --overcommit. Disk, processes and files are hard and stay.
[[nodiscard]] resources overcommitted(resources capacity, double factor);

} // namespace chalk::actors
