/// The one thread that all sockets, pipes, timers and child processes of a process are served by. Handlers must not
/// block. Owned by main; outlives everything that holds its executor.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>

#include <thread>

namespace chalk {

class io_thread {
  public:
    /// Starts the thread. It lives until this object dies, so that it may own children with a parent-death signal.
    io_thread();
    io_thread(const io_thread&) = delete;
    io_thread& operator=(const io_thread&) = delete;
    ~io_thread();

    [[nodiscard]] boost::asio::io_context& context() noexcept { return context_; }

  private:
    boost::asio::io_context context_{1};
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_;
    std::thread thread_;
};

} // namespace chalk
