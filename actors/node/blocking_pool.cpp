#include "actors/node/blocking_pool.hpp"

#include "protocol/core/all_signals_blocked.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <signal.h>

namespace chalk::actors {

namespace {

/// Shared with the threads, so that one which hangs never touches freed memory.
struct pool_state {
    std::mutex mutex;
    std::condition_variable work_came;
    std::condition_variable thread_ended;
    std::deque<std::function<void()>> queue;
    std::size_t threads = 0;
    std::size_t idle = 0;
    bool closing = false;
};

void serve(const std::shared_ptr<pool_state>& state) {
    std::unique_lock lock(state->mutex);
    for (;;) {
        ++state->idle;
        state->work_came.wait(lock, [&] { return state->closing || !state->queue.empty(); });
        --state->idle;
        if (state->closing) {
            break;
        }
        auto work = std::move(state->queue.front());
        state->queue.pop_front();
        lock.unlock();
        work();
        work = nullptr; // what it holds may be slow to let go of
        lock.lock();
    }
    --state->threads;
    state->thread_ended.notify_all();
}

;

class thread_pool final : public blocking_pool {
  public:
    /// With its first thread: should the system have no more of them later, that one does everything.
    explicit thread_pool(std::size_t threads) : limit_(threads) {
        const std::lock_guard lock(state_->mutex);
        start_thread();
    }

    ~thread_pool() override { thread_pool::shut_down(); }

    void shut_down() override {
        using namespace std::chrono_literals;
        std::deque<std::function<void()>> dropped;
        std::unique_lock lock(state_->mutex);
        state_->closing = true;
        dropped.swap(state_->queue);
        state_->work_came.notify_all();
        lock.unlock();
        dropped.clear(); // outside the lock: what it holds may call back
        lock.lock();
        state_->thread_ended.wait_for(lock, 5s, [&] { return state_->threads == 0; });
    }

    void submit(std::function<void()> work) override {
        const std::lock_guard lock(state_->mutex);
        if (state_->closing) {
            return; // and `work` goes after the lock
        }
        state_->queue.push_back(std::move(work));
        if (state_->queue.size() > state_->idle && state_->threads < limit_) {
            try {
                start_thread();
            } catch (const std::system_error&) { // those that there are come to it later
            }
        }
        state_->work_came.notify_one();
    }

  private:
    void start_thread() {
        const all_signals_blocked for_thread; // signals belong to the main thread
        std::thread([state = state_] { serve(state); }).detach();
        ++state_->threads;
    }

    std::size_t limit_;
    std::shared_ptr<pool_state> state_ = std::make_shared<pool_state>();
};

} // namespace

std::unique_ptr<blocking_pool> make_blocking_pool(std::size_t threads) {
    return std::make_unique<thread_pool>(threads == 0 ? 1 : threads);
}

} // namespace chalk::actors
