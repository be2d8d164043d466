/// Where on the coordinator's disk the files of an attempt belong that a node sends over the bulk connection. The
/// cluster actor says what it expects; the connection asks, on its own thread.
///
/// Owner: shared by both. Thread-safe.
#pragma once

#include "actors/cluster/epoch_number.hpp"
#include "protocol/core/ids.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>

namespace chalk::actors {

class landing_places {
  public:
    void expect(const run_id& run, attempt_number attempt, fencing_token token, std::filesystem::path where) {
        const std::scoped_lock held(mutex_);
        places_.insert_or_assign({run, attempt, token}, std::move(where));
    }
    /// Nothing more of it is wanted.
    void close(const run_id& run, attempt_number attempt, fencing_token token) {
        const std::scoped_lock held(mutex_);
        places_.erase({run, attempt, token});
    }
    /// The attempt's folder, which the files become; nullopt: nobody waits for such a result.
    [[nodiscard]] std::optional<std::filesystem::path> find(const run_id& run, attempt_number attempt,
                                                            fencing_token token) const {
        const std::scoped_lock held(mutex_);
        const auto found = places_.find({run, attempt, token});
        return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::size_t size() const {
        const std::scoped_lock held(mutex_);
        return places_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::map<std::tuple<run_id, attempt_number, fencing_token>, std::filesystem::path> places_;
};

} // namespace chalk::actors
