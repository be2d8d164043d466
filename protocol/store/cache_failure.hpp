/// Why the chunk cache says no.
#pragma once

#include "protocol/core/result.hpp"

#include <string>

namespace chalk::store {

enum class cache_trouble {
    full,     ///< what is pinned leaves no room: end a run, or raise the cap
    mismatch, ///< the content is not what its name says: ask another source
    busy,     ///< another process held the cache for longer than the deadline
    disk,     ///< the file system refused
};

struct cache_failure {
    cache_trouble code = cache_trouble::disk;
    std::string message; ///< for a person; names the cache's folder

    /// For those to whom only a failure matters.
    [[nodiscard]] failure as_failure() const { return harness_failure(message); }
};

template<class T>
using cache_result = boost::system::result<T, cache_failure>;

/// Called by boost::system::result when value() is asked of a failure: a programming error.
[[noreturn]] inline void throw_exception_from_error(const cache_failure& why, const boost::source_location&) {
    throw std::logic_error("value() of a cache's failure: " + why.message);
}

} // namespace chalk::store
