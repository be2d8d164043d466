/// Ctrl-C: the first asks, the second kills, the third leaves at once (what stays behind is removed by the next chalk).
///
/// Owner: the run command, while runs are under way.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <atomic>
#include <functional>
#include <string>

namespace chalk::cli {

class interrupts {
  public:
    /// Handlers run on `io`'s thread. SIGINT, SIGTERM and SIGHUP count alike; but with `hangup`, SIGHUP is that and no
    /// interrupt.
    interrupts(boost::asio::io_context& io, std::function<void(const std::string& reason)> first,
               std::function<void(const std::string& reason)> second, std::function<void()> hangup = {});
    interrupts(const interrupts&) = delete;
    interrupts& operator=(const interrupts&) = delete;
    ~interrupts();

    [[nodiscard]] bool happened() const noexcept { return count_ > 0; }

  private:
    void wait();

    std::function<void(const std::string&)> first_;
    std::function<void(const std::string&)> second_;
    std::function<void()> hangup_;
    std::atomic<int> count_ = 0;
    boost::asio::signal_set signals_;
};

} // namespace chalk::cli
