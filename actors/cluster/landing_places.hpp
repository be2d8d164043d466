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

struct landing_place {
    std::filesystem::path transcript; ///< a file
    std::filesystem::path artifacts;  ///< a folder
};

class landing_places {
  public:
    void expect(const run_id& run, attempt_number attempt, fencing_token token, landing_place where) {
        const std::scoped_lock held(mutex_);
        places_.insert_or_assign({run, attempt, token}, std::move(where));
    }
    /// Nothing more of it is wanted.
    void close(const run_id& run, attempt_number attempt, fencing_token token) {
        const std::scoped_lock held(mutex_);
        places_.erase({run, attempt, token});
    }
    /// nullopt: nobody waits for such a result.
    [[nodiscard]] std::optional<landing_place> find(const run_id& run, attempt_number attempt,
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
    std::map<std::tuple<run_id, attempt_number, fencing_token>, landing_place> places_;
};

} // namespace chalk::actors
