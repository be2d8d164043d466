#include "protocol/store/work_lane.hpp"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

namespace chalk::store {

void work_lane::run(std::function<void()> work, std::function<void()> then) {
    waiting_.push_back({std::move(work), std::move(then)});
    start();
}

void work_lane::start() {
    while (running_ < width_ && !waiting_.empty()) {
        ++running_;
        auto next = std::make_shared<item>(std::move(waiting_.front()));
        waiting_.pop_front();
        executor_(
            [self = shared_from_this(), next = std::move(next), guard = boost::asio::make_work_guard(io_)]() mutable {
                next->work();
                next->work = nullptr; // what it holds may be large
                auto& io = self->io_;
                // Moved: what the two hold belongs to the io thread, and dies there.
                boost::asio::post(io, [self = std::move(self), next = std::move(next)] {
                    --self->running_;
                    next->then();
                    self->start();
                });
            });
    }
}

} // namespace chalk::store
