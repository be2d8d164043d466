/// The one place of a node where calls may block: runtimes, file systems. Bounded, so that a thousand runs that start
/// at once do not become a thousand threads.
///
/// Owner: whoever made the actor system, who shuts it down before that system ends.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>

namespace chalk::actors {

class blocking_pool {
  public:
    blocking_pool() = default;
    blocking_pool(const blocking_pool&) = delete;
    blocking_pool& operator=(const blocking_pool&) = delete;
    virtual ~blocking_pool() = default;

    /// Any thread. `work` runs once on some thread of the pool, in order of arrival as threads come free. It must not
    /// throw; it tells of its result by a message.
    virtual void submit(std::function<void()> work) = 0;

    /// Drops what has not begun and waits, for five seconds at most, for what has. What is submitted from then on is
    /// dropped at once.
    virtual void shut_down() = 0;
};

/// At most `threads` threads, started as they are needed, without signals. Its destructor shuts down: a runtime's call
/// that hangs must not keep chalk from ending, and is left behind.
[[nodiscard]] std::unique_ptr<blocking_pool> make_blocking_pool(std::size_t threads);

} // namespace chalk::actors
