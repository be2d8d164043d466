/// Writes lines to a descriptor on a thread of its own, so that no actor waits for a terminal or a pipe. Bounded: a
/// reader that does not keep up loses lines, and is told how many.
///
/// Owner: the command's watcher. Its destructor writes out what is queued, for at most five seconds.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace chalk::cli {

class line_writer {
  public:
    /// `lost` makes the line that stands for `count` lines left out. The descriptor stays the caller's.
    line_writer(int fd, std::size_t most_bytes, std::function<std::string(std::uint64_t count)> lost);
    line_writer(const line_writer&) = delete;
    line_writer& operator=(const line_writer&) = delete;
    ~line_writer();

    /// Any thread. Adds the line break.
    void write(std::string line);
    /// Any thread. As it is: for a status line that is drawn over.
    void write_raw(std::string text);

  private:
    void push(std::string text, std::uint64_t lines);
    void serve();
    bool put(const std::string& text);

    int fd_;
    std::size_t most_bytes_;
    std::function<std::string(std::uint64_t)> lost_line_;
    std::mutex mutex_;
    std::condition_variable came_;
    std::deque<std::string> queue_;
    std::size_t queued_bytes_ = 0;
    std::uint64_t lost_ = 0;
    bool closing_ = false;
    std::thread thread_;
};

} // namespace chalk::cli
