#include "runtimes/confinement/running_command.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace chalk::confinement {
namespace {

/// Between two looks at whether what was killed is gone.
constexpr milliseconds kill_interval{5};
/// A process that SIGKILL does not end (it hangs in the kernel) is given up after this; its scope stays and is killed
/// again with the rest.
constexpr milliseconds kill_patience{2'500};

/// Then other events of the io thread get their turn.
constexpr std::size_t read_at_once = 256U * 1024U;

/// Standard input as a sealed file in memory: nothing to write while the command runs, and no pipe to break.
result<unique_fd> input_file(const std::string& text) {
    unique_fd file(::memfd_create("input", MFD_CLOEXEC | MFD_ALLOW_SEALING));
    std::size_t written = 0;
    while (file && written < text.size()) {
        const auto n = ::write(file.get(), text.data() + written, text.size() - written);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        written += static_cast<std::size_t>(n);
    }
    constexpr int seals = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL;
    if (!file || written < text.size() || ::lseek(file.get(), 0, SEEK_SET) != 0 ||
        ::fcntl(file.get(), F_ADD_SEALS, seals) != 0) {
        return sandbox_failure(fmt::format("cannot hand the command its input: {}", std::strerror(errno)));
    }
    return file;
}

} // namespace

running_command::running_command(boost::asio::io_context& io, std::shared_ptr<call_scope> scope, completion done)
    : io_(io), scope_(std::move(scope)), done_(std::move(done)), output_(io), deadline_(io), killing_(io),
      captured_(bytes{0}) {}

result<process::child> running_command::spawn(const student_settings& settings, const student_command& what) {
    if (what.argv.empty()) {
        return sandbox_failure("cannot start a command without a program");
    }
    auto pipe = process::make_pipe();
    if (!pipe) {
        return pipe.error();
    }
    process::command command;
    command.executable = what.argv.front();
    command.executable_fd = what.executable_fd;
    command.arguments.assign(what.argv.begin() + 1, what.argv.end());
    command.environment = settings.environment;
    command.environment.insert(command.environment.end(), what.environment.begin(), what.environment.end());
    command.working_directory = settings.working_directory;
    command.become = settings.become;
    command.limits = settings.limits;
    command.descriptors = {{pipe->write.get(), 1}, {pipe->write.get(), 2}};
    unique_fd input;
    if (!what.input.empty()) {
        auto file = input_file(what.input);
        if (!file) {
            return file.error();
        }
        input = std::move(*file);
        command.descriptors.push_back({input.get(), 0});
    }
    scope_->enter(command);
    auto started = process::spawn(command);
    if (started) {
        output_.assign(pipe->read.release());
        output_.non_blocking(true);
    }
    return started;
}

void running_command::start(const student_settings& settings, student_command what) {
    captured_ = captured_output(what.output_cap);
    grace_ = what.grace;
    on_output_ = std::move(what.on_output);
    started_ = clock::now();
    auto started = spawn(settings, what);
    if (!started) {
        finish(started.error());
        return;
    }
    leader_ = started->pid;
    scope_->started(leader_);
    auto self = shared_from_this();
    process::async_wait(io_, std::move(*started), [self](process::exit_status status) { self->on_exit(status); });
    deadline_.expires_after(what.timeout);
    deadline_.async_wait([self](const boost::system::error_code& failed) {
        if (!failed) {
            self->on_timeout();
        }
    });
    read_output();
}

/// Waits for readiness instead of reading asynchronously: a completed read whose handler is still queued when the
/// command's end is handled would lose what it read.
void running_command::read_output() {
    using stream = boost::asio::posix::stream_descriptor;
    output_.async_wait(stream::wait_read, [self = shared_from_this()](const boost::system::error_code& failed) {
        if (!failed && self->read_some(read_at_once)) {
            self->read_output();
        }
    });
}

/// At most `most` bytes. False when the pipe is closed, which is not the command's end: it may have closed its streams.
bool running_command::read_some(std::size_t most) {
    while (most > 0 && output_.is_open()) {
        char part[16 * 1024];
        const auto n = ::read(output_.native_handle(), part, std::min(most, sizeof part));
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0 && errno == EAGAIN) {
            break;
        }
        if (n <= 0) {
            close_output();
            break;
        }
        if (running()) {
            captured_.append({part, static_cast<std::size_t>(n)});
            if (on_output_) {
                on_output_({part, static_cast<std::size_t>(n)});
            }
        } // else a background process talks to nobody
        most -= static_cast<std::size_t>(n);
    }
    return output_.is_open();
}

void running_command::on_timeout() {
    if (!running() || exited_ || result_.cancelled) {
        return;
    }
    result_.timed_out = true;
    ::kill(-leader_, SIGTERM);
    deadline_.expires_after(grace_);
    deadline_.async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
        if (!failed) {
            self->kill_all_of_it();
        }
    });
}

void running_command::cancel() {
    if (running() && !result_.timed_out) {
        result_.cancelled = true;
        kill_all_of_it();
    }
}

void running_command::on_exit(process::exit_status status) {
    exited_ = true;
    result_.status = status;
    if (!running()) {
        return; // given up earlier
    }
    if (result_.timed_out || result_.cancelled) {
        kill_all_of_it();
    } else {
        finish();
    }
}

void running_command::kill_all_of_it() {
    if (!running()) {
        return;
    }
    deadline_.cancel();
    if (!kill_started_) {
        kill_started_ = true;
        give_up_ = clock::now() + kill_patience;
    }
    const bool none_left = scope_->kill_round();
    if (none_left && exited_) {
        finish();
    } else if (clock::now() >= give_up_) {
        if (!exited_) {
            result_.status = {process::exit_status::lost, 0};
        }
        finish();
    } else {
        killing_.expires_after(kill_interval);
        killing_.async_wait([self = shared_from_this()](const boost::system::error_code& failed) {
            if (!failed) {
                self->kill_all_of_it();
            }
        });
    }
}

void running_command::close_output() {
    boost::system::error_code ignored; // closing a pipe has nothing to report
    output_.close(ignored);
}

void running_command::finish() {
    if (output_.is_open()) {
        // What the command printed before it ended is in the pipe, and fits into it; more comes from the background.
        read_some(static_cast<std::size_t>(std::max(::fcntl(output_.native_handle(), F_GETPIPE_SZ), 4096)));
    }
    result_.output = captured_.text();
    result_.omitted_bytes = captured_.omitted();
    result_.memory_exhausted = scope_->memory_exhausted();
    result_.duration = std::chrono::duration_cast<milliseconds>(clock::now() - started_);
    captured_ = captured_output(bytes{0});
    on_output_ = nullptr;
    finish(result<command_result>(std::move(result_)));
}

void running_command::finish(result<command_result> outcome) {
    deadline_.cancel();
    killing_.cancel();
    std::exchange(done_, nullptr)(std::move(outcome));
}

} // namespace chalk::confinement
