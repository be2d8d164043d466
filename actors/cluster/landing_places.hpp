/// Where on the coordinator's disk the files of an attempt belong that a node sends over the bulk connection. The
/// cluster actor says what it expects; the connection asks, on its own thread. A token names an assignment by itself.
///
/// Owner: shared by both. Thread-safe.
#pragma once

#include "actors/cluster/token_wire.hpp"

#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace chalk::actors {

class landing_places {
  public:
    void expect(fencing_token token, std::filesystem::path where) {
        const std::scoped_lock held(mutex_);
        places_.insert_or_assign(to_wire(token), std::move(where));
    }
    /// Nothing more of it is wanted.
    void close(fencing_token token) {
        const std::scoped_lock held(mutex_);
        places_.erase(to_wire(token));
    }
    /// The attempt's folder, which the files become; nullopt: nobody waits for such a result.
    [[nodiscard]] std::optional<std::filesystem::path> find(store::result_token token) const {
        const std::scoped_lock held(mutex_);
        const auto found = places_.find(token);
        return found == places_.end() ? std::nullopt : std::optional(found->second);
    }
    [[nodiscard]] std::size_t size() const {
        const std::scoped_lock held(mutex_);
        return places_.size();
    }

  private:
    mutable std::mutex mutex_;
    std::map<store::result_token, std::filesystem::path> places_;
};

} // namespace chalk::actors
