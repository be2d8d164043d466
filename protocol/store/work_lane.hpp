/// Blocking work for those who live on the io thread: so many at a time, in order, each followed by what it is done
/// for, on the io thread again.
///
/// Owner: who has the work done, on the io thread; kept alive by what is under way. The executor's threads end before
/// the io_context dies.
#pragma once

#include <boost/asio/io_context.hpp>

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace chalk::store {

/// Runs what it gets on a thread that may block, at once or later. Any thread may call it. A work that it drops keeps
/// its lane from going on: only where the process ends.
using blocking_executor = std::function<void(std::function<void()>)>;

class work_lane : public std::enable_shared_from_this<work_lane> {
  public:
    /// `width` works at a time; with one, they see what the ones before them did.
    work_lane(boost::asio::io_context& io, blocking_executor executor, std::size_t width)
        : io_(io), executor_(std::move(executor)), width_(width) {}

    /// On the io thread, as `then` is called.
    void run(std::function<void()> work, std::function<void()> then);

    /// The same for a work with a result.
    template<class Result>
    void run_for(std::function<Result()> work, std::function<void(Result&&)> then) {
        const auto made = std::make_shared<std::optional<Result>>();
        run([made, work = std::move(work)] { made->emplace(work()); },
            [made, then = std::move(then)] { then(std::move(**made)); });
    }

    [[nodiscard]] bool idle() const noexcept { return running_ == 0; }

  private:
    struct item {
        std::function<void()> work;
        std::function<void()> then;
    };
    void start();

    boost::asio::io_context& io_;
    blocking_executor executor_;
    std::size_t width_;
    std::size_t running_ = 0;
    std::deque<item> waiting_;
};

} // namespace chalk::store
