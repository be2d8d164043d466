#include "protocol/host_channel/channel.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <atomic>
#include <mutex>
#include <utility>

#include <sys/socket.h>

namespace chalk::host_channel {

namespace {

using boost::system::error_code;
namespace asio = boost::asio;

class socket_channel final : public channel, public std::enable_shared_from_this<socket_channel> {
  public:
    socket_channel(asio::io_context& io, channel_handlers handlers)
        : io_(io), socket_(io), handlers_(std::move(handlers)) {}

    result<void> start(unique_fd fd) {
        error_code ec;
        socket_.assign(asio::local::stream_protocol{}, fd.get(), ec);
        if (ec) {
            return harness_failure(fmt::format("host channel: cannot use descriptor {}: {}", fd.get(), ec.message()));
        }
        (void)fd.release();
        socket_.non_blocking(true, ec);
        if (ec) {
            return harness_failure(fmt::format("host channel: {}", ec.message()));
        }
        asio::post(io_, [self = shared_from_this()] { self->await_bytes(); });
        return {};
    }

    void send(std::string line) override {
        line += '\n';
        {
            const std::lock_guard lock(mutex_);
            if (ended_) {
                return;
            }
            const auto size = queued_.fetch_add(line.size()) + line.size();
            if (size > queue_limit) {
                writable_ = false;
            }
            if (pending_.empty()) {
                pending_ = std::move(line);
            } else {
                pending_ += line;
            }
            if (std::exchange(flush_posted_, true)) {
                return;
            }
        }
        asio::post(io_, [self = shared_from_this()] { self->flush(); });
    }

    bool writable() const noexcept override { return writable_; }

    void pause_reading() override { paused_ = true; }

    void resume_reading() override {
        paused_ = false;
        asio::post(io_, [self = shared_from_this()] { self->await_bytes(); });
    }

    void finish(std::function<void()> done) override {
        asio::post(io_, [self = shared_from_this(), done = std::move(done)]() mutable {
            self->finished_ = std::move(done);
            if (self->open_) {
                self->flush();
            } else {
                self->run_finished();
            }
        });
    }

    void close() override {
        asio::post(io_, [self = shared_from_this()] { self->end_quietly(); });
    }

  private:
    /// No memory is held for a channel that is silent.
    void await_bytes() {
        if (!open_ || waiting_ || paused_) {
            return;
        }
        waiting_ = true;
        socket_.async_wait(asio::socket_base::wait_read, [self = shared_from_this()](error_code ec) {
            self->waiting_ = false;
            if (ec) {
                self->end(ec);
                return;
            }
            self->read_some();
        });
    }

    void read_some() {
        char buffer[16 * 1024]; // on the stack, so that no thread zeroes it at its start
        if (!open_ || paused_) {
            return;
        }
        error_code ec;
        const auto size = socket_.read_some(asio::buffer(buffer), ec);
        if (ec && ec != asio::error::would_block) {
            end(ec);
            return;
        }
        take(std::string_view(buffer, size));
        await_bytes();
    }

    void take(std::string_view bytes) {
        while (open_) {
            const auto line_end = bytes.find('\n');
            if (line_end == std::string_view::npos) {
                break;
            }
            if (partial_.empty()) {
                handlers_.on_line(bytes.substr(0, line_end));
            } else {
                auto line = std::exchange(partial_, {});
                line.append(bytes.substr(0, line_end));
                handlers_.on_line(line);
            }
            bytes.remove_prefix(line_end + 1);
        }
        partial_.append(bytes);
        if (open_ && partial_.size() > line_limit) {
            finish_with(harness_failure(fmt::format("host channel: a line of more than {} bytes", line_limit)));
        }
    }

    void flush() {
        if (!open_ || write_in_progress_) {
            return;
        }
        {
            const std::lock_guard lock(mutex_);
            flush_posted_ = false;
            writing_ = std::exchange(pending_, {});
        }
        if (writing_.empty()) {
            if (finished_) {
                end_quietly();
            }
            return;
        }
        write_in_progress_ = true;
        asio::async_write(socket_, asio::buffer(writing_),
                          [self = shared_from_this()](error_code ec, std::size_t) { self->written(ec); });
    }

    void written(error_code ec) {
        write_in_progress_ = false;
        if (ec) {
            end(ec);
            return;
        }
        const auto size = std::exchange(writing_, {}).size();
        if (queued_.fetch_sub(size) == size && !writable_.exchange(true) && handlers_.on_drained) {
            handlers_.on_drained();
        }
        flush();
    }

    void end(error_code ec) {
        const bool gone = ec == asio::error::eof || ec == asio::error::broken_pipe ||
                          ec == asio::error::connection_reset || ec == asio::error::operation_aborted;
        finish_with(gone ? std::nullopt
                         : std::optional(harness_failure(fmt::format("host channel: {}", ec.message()))));
    }

    void finish_with(std::optional<failure> why) {
        if (!open_) {
            return;
        }
        auto on_end = handlers_.on_end;
        end_quietly();
        if (on_end) {
            on_end(std::move(why));
        }
    }

    void end_quietly() {
        {
            const std::lock_guard lock(mutex_);
            ended_ = true;
            pending_.clear();
        }
        if (!std::exchange(open_, false)) {
            return;
        }
        error_code ignored; // closing a socket that is gone is what was wanted
        socket_.close(ignored);
        // The handlers often own whoever owns this channel; a handler of ours may be running, so they go later.
        asio::post(io_, [handlers = std::move(handlers_)] {});
        handlers_ = {};
        run_finished();
    }

    void run_finished() {
        if (auto done = std::exchange(finished_, nullptr)) {
            done();
        }
    }

    asio::io_context& io_;
    // Of the io thread alone:
    asio::local::stream_protocol::socket socket_;
    channel_handlers handlers_;
    std::function<void()> finished_;
    std::string partial_;
    std::string writing_;
    bool open_ = true;
    bool waiting_ = false;
    bool write_in_progress_ = false;
    // Of any thread:
    std::atomic<bool> paused_ = false;
    std::atomic<bool> writable_ = true;
    std::atomic<std::size_t> queued_ = 0;
    std::mutex mutex_;
    std::string pending_;
    bool flush_posted_ = false;
    bool ended_ = false;
};

/// What its owner holds. The socket's own handlers keep the socket_channel alive while they wait, so that letting go of
/// this one is what closes it.
class owned_channel final : public channel {
  public:
    explicit owned_channel(std::shared_ptr<socket_channel> impl) : impl_(std::move(impl)) {}
    ~owned_channel() override { impl_->close(); }

    void send(std::string line) override { impl_->send(std::move(line)); }
    bool writable() const noexcept override { return impl_->writable(); }
    void pause_reading() override { impl_->pause_reading(); }
    void resume_reading() override { impl_->resume_reading(); }
    void finish(std::function<void()> done) override { impl_->finish(std::move(done)); }
    void close() override { impl_->close(); }

  private:
    std::shared_ptr<socket_channel> impl_;
};

} // namespace

result<std::shared_ptr<channel>> channel::open(asio::io_context& io, unique_fd socket, channel_handlers handlers) {
    auto impl = std::make_shared<socket_channel>(io, std::move(handlers));
    if (auto started = impl->start(std::move(socket)); !started) {
        return started.error();
    }
    return std::shared_ptr<channel>(std::make_shared<owned_channel>(std::move(impl)));
}

} // namespace chalk::host_channel
