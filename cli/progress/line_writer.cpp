#include "cli/progress/line_writer.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include <poll.h>
#include <signal.h>
#include <unistd.h>

namespace chalk::cli {

namespace {
constexpr std::chrono::seconds last_words_deadline{5};
}

line_writer::line_writer(int fd, std::size_t most_bytes, std::function<std::string(std::uint64_t)> lost)
    : fd_(fd), most_bytes_(most_bytes), lost_line_(std::move(lost)) {
    // Signals belong to the main thread.
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    thread_ = std::thread([this] { serve(); });
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

line_writer::~line_writer() {
    {
        const std::lock_guard lock(mutex_);
        closing_ = true;
    }
    came_.notify_all();
    thread_.join();
}

void line_writer::write(std::string line) {
    line += '\n';
    push(std::move(line), 1);
}

void line_writer::write_raw(std::string text) {
    push(std::move(text), 0);
}

void line_writer::push(std::string text, std::uint64_t lines) {
    const std::lock_guard lock(mutex_);
    if (queued_bytes_ + text.size() > most_bytes_) {
        lost_ += lines;
        return;
    }
    if (lost_ > 0) {
        queue_.push_back(lost_line_(std::exchange(lost_, 0)) + "\n");
        queued_bytes_ += queue_.back().size();
    }
    queued_bytes_ += text.size();
    queue_.push_back(std::move(text));
    came_.notify_one();
}

/// False when the reader is gone, or when chalk ends and it takes nothing any more.
bool line_writer::put(const std::string& text) {
    std::size_t done = 0;
    auto deadline = std::chrono::steady_clock::time_point::max();
    while (done < text.size()) {
        pollfd ready{fd_, POLLOUT, 0};
        const int n = ::poll(&ready, 1, 100);
        if (n > 0) {
            // At most what a ready pipe takes without blocking.
            const ssize_t written = ::write(fd_, text.data() + done, std::min<std::size_t>(text.size() - done, 4096));
            if (written < 0 && errno != EINTR && errno != EAGAIN) {
                return false;
            }
            done += written > 0 ? static_cast<std::size_t>(written) : 0;
            continue;
        }
        const std::lock_guard lock(mutex_);
        const auto now = std::chrono::steady_clock::now();
        if (closing_ && deadline == std::chrono::steady_clock::time_point::max()) {
            deadline = now + last_words_deadline;
        }
        if (now > deadline) {
            return false;
        }
    }
    return true;
}

void line_writer::serve() {
    bool reader_gone = false;
    std::unique_lock lock(mutex_);
    for (;;) {
        came_.wait(lock, [this] { return closing_ || !queue_.empty(); });
        if (queue_.empty()) {
            if (lost_ > 0) {
                queue_.push_back(lost_line_(std::exchange(lost_, 0)) + "\n");
                continue;
            }
            return;
        }
        const std::string text = std::move(queue_.front());
        queue_.pop_front();
        lock.unlock();
        reader_gone = reader_gone || !put(text);
        lock.lock();
        queued_bytes_ -= std::min(queued_bytes_, text.size());
    }
}

} // namespace chalk::cli
