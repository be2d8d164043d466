#include "runtimes/namespaces/sandbox_handle.hpp"

#include "runtimes/namespaces/nest_client.hpp"
#include "runtimes/namespaces/stderr_tail.hpp"

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>

#include <mutex>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/wait.h>

namespace chalk::namespaces {

namespace asio = boost::asio;

namespace {

/// From killing a sandbox to giving up on it: the kernel is then not doing what it promises.
constexpr std::chrono::seconds kill_deadline{10};

/// What is known of the sandbox's end. Both the io thread and whoever removes the sandbox may hear of it first.
class ending {
  public:
    explicit ending(unique_fd socket) : socket_(std::move(socket)) {}

    [[nodiscard]] int socket() const noexcept { return socket_.get(); }

    /// Takes what the socket holds, waiting for at most `wait`. True: every process is gone.
    bool hear(std::optional<std::chrono::milliseconds> wait) {
        for (;;) {
            const received_report got = receive_report(socket_.get(), wait);
            const std::lock_guard lock(mutex_);
            if (got.empty || gone_) {
                return gone_;
            }
            if (!got.report) { // the helper died; the kernel killed its sandboxes
                gone_ = true;
                return true;
            }
            if (got.report->what == sandbox_report::kind::ended) {
                status_ = got.report->status;
            } else if (got.report->what == sandbox_report::kind::failed) {
                words_ = got.report->text;
            } else if (got.report->what == sandbox_report::kind::gone) {
                gone_ = true;
                return true;
            }
            wait = std::nullopt;
        }
    }

    void kill() { ::shutdown(socket_.get(), SHUT_WR); }

    [[nodiscard]] bool gone() const {
        const std::lock_guard lock(mutex_);
        return gone_;
    }

    /// Without the memory's part.
    [[nodiscard]] sandbox_exit exit() const {
        const std::lock_guard lock(mutex_);
        sandbox_exit end;
        end.last_words = words_;
        if (!status_) { // killed from outside before the harness could end
            end.signal = SIGKILL;
        } else if (WIFEXITED(*status_)) {
            end.code = WEXITSTATUS(*status_);
        } else {
            end.signal = WTERMSIG(*status_);
        }
        return end;
    }

  private:
    unique_fd socket_;
    mutable std::mutex mutex_;
    bool gone_ = false;
    std::optional<int> status_;
    std::string words_;
};

/// Waits on the io thread for the end; keeps itself alive until then.
struct end_watch : std::enable_shared_from_this<end_watch> {
    end_watch(asio::io_context& io, std::shared_ptr<ending> what, std::function<void(sandbox_exit)> then)
        : readable(io), end(std::move(what)), done(std::move(then)) {}

    void wait() {
        readable.async_wait(asio::posix::stream_descriptor::wait_read,
                            [self = shared_from_this()](const boost::system::error_code& error) {
                                if (error || self->end->hear(std::nullopt)) {
                                    self->done(self->end->exit());
                                } else {
                                    self->wait();
                                }
                            });
    }

    asio::posix::stream_descriptor readable;
    std::shared_ptr<ending> end;
    std::function<void(sandbox_exit)> done;
};

class handle final : public sandbox {
  public:
    handle(asio::io_context& io, sandbox_parts parts)
        : parts_(std::move(parts)), end_(std::make_shared<ending>(std::move(parts_.socket))),
          tail_(stderr_tail::start(io, std::move(parts_.stderr_pipe))) {}

    ~handle() override { (void)remove(); } // who wants to know why it failed calls remove()

    unique_fd take_host_channel() override { return std::move(parts_.host_channel); }

    host_channel::student_description student() const override { return parts_.student; }

    void async_wait(asio::io_context& io, std::function<void(sandbox_exit)> done) override {
        // A descriptor of its own for asio, so that neither side closes it under the other.
        auto memory = parts_.cgroup ? parts_.cgroup->memory_probe() : std::function<bool()>([] { return false; });
        auto watch = std::make_shared<end_watch>(
            io, end_, [tail = tail_, memory = std::move(memory), done = std::move(done)](sandbox_exit end) {
                end.memory_exhausted = memory();
                if (end.last_words.empty()) {
                    end.last_words = tail->finish();
                }
                done(std::move(end));
            });
        asio::post(io, [watch, fd = ::fcntl(end_->socket(), F_DUPFD_CLOEXEC, 0)] {
            boost::system::error_code error;
            if (fd >= 0) {
                watch->readable.assign(fd, error);
            }
            if (fd < 0 || error) { // out of descriptors: the end would never be heard of, so it is now
                watch->end->kill();
                watch->end->hear(kill_deadline);
                watch->done(watch->end->exit());
                return;
            }
            watch->wait();
        });
    }

    void kill() override { end_->kill(); }

    result<std::optional<std::filesystem::path>> remove() override {
        if (!end_->gone()) {
            end_->kill();
            const auto until = std::chrono::steady_clock::now() + kill_deadline;
            constexpr milliseconds slice{50}; // the io thread may hear of it instead of us
            while (!end_->hear(slice)) {
                if (std::chrono::steady_clock::now() > until) {
                    return sandbox_failure("the sandbox's processes do not die");
                }
            }
        }
        parts_.host_channel.reset();
        result<void> done;
        if (parts_.cgroup) {
            done = parts_.cgroup->remove();
        }
        if (parts_.out) {
            if (auto given = parts_.out->give_back(); !given && done) {
                done = given;
            }
        }
        if (parts_.kept && parts_.take_kept) {
            if (auto taken = std::exchange(parts_.take_kept, {})(*parts_.kept); !taken && done) {
                done = taken;
            }
        }
        parts_.stands_on.clear();
        if (!done) {
            return done.error();
        }
        return parts_.kept;
    }

    pid_t init_pid() const noexcept override { return parts_.init; }

  private:
    sandbox_parts parts_;
    std::shared_ptr<ending> end_;
    std::shared_ptr<stderr_tail> tail_;
};

} // namespace

std::unique_ptr<sandbox> make_sandbox_handle(asio::io_context& io, sandbox_parts parts) {
    return std::make_unique<handle>(io, std::move(parts));
}

} // namespace chalk::namespaces
