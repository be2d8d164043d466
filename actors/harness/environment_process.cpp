#include "actors/harness/environment_process.hpp"

#include "config/defaults.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <csignal>
#include <deque>
#include <utility>

namespace chalk::actors {

namespace {

namespace asio = boost::asio;
namespace defaults = config::defaults;

constexpr std::size_t kept_words = 2048;

/// All of it runs on the io thread.
class host_process final : public std::enable_shared_from_this<host_process> {
  public:
    host_process(asio::io_context& io, environment_process_handlers handlers)
        : io_(io), timer_(io), handlers_(std::move(handlers)) {}

    void start(process::command what) {
        if (auto started = launch(std::move(what)); !started) {
            end({started.error().kind, fmt::format("cannot start the environment host: {}", started.error().message)});
        }
    }

    void call(std::string method, json params, milliseconds deadline,
              std::function<void(environment::call_result)> done, environment::report_handler report) {
        if (!client_ || closed_) {
            done(environment::call_error{environment::call_error_kind::closed, 0, "the environment host is gone", {}});
            return;
        }
        client_->call(std::move(method), std::move(params), deadline, std::move(done), std::move(report));
    }

    void stop(bool orderly) {
        if (ended_ || stopping_) {
            return;
        }
        stopping_ = true;
        if (!orderly || !running_ || closed_) {
            kill();
            return;
        }
        client_->call("shutdown", json::object(), defaults::environment_shutdown,
                      [self = shared_from_this()](const environment::call_result& answer) {
                          // Its end is what counts; a host that would not answer is killed by the timer below.
                          if (answer) {
                              self->client_->close();
                          }
                      });
        after(defaults::environment_shutdown, [](host_process& self) { self.kill(); });
    }

    /// The owner let go: nobody is left to hear of it.
    void abandon() {
        handlers_ = {};
        stopping_ = true;
        kill();
    }

  private:
    result<void> launch(process::command what) {
        auto input = process::make_pipe();
        auto output = process::make_pipe();
        auto errors = process::make_pipe();
        for (const auto* pipe : {&input, &output, &errors}) {
            if (!*pipe) {
                return pipe->error();
            }
        }
        what.descriptors.push_back({input->read.get(), 0});
        what.descriptors.push_back({output->write.get(), 1});
        what.descriptors.push_back({errors->write.get(), 2});
        auto child = process::spawn(what);
        if (!child) {
            return child.error();
        }
        pid_ = child->pid;
        running_ = true;
        environment::client_handlers on;
        on.on_log = [weak = weak_from_this()](log_line line) {
            if (auto self = weak.lock()) {
                self->log(std::move(line));
            }
        };
        on.on_closed = [weak = weak_from_this()](const environment::call_error& why) {
            if (auto self = weak.lock()) {
                self->closed(why);
            }
        };
        client_ = environment::client::open(io_, std::move(input->write), std::move(output->read),
                                            std::move(errors->read), std::move(on));
        process::async_wait(io_, std::move(*child),
                            [self = shared_from_this()](process::exit_status status) { self->exited(status); });
        return {};
    }

    void log(log_line line) {
        if (line.level >= log_level::warning) {
            last_words_ += line.text;
            last_words_ += '\n';
            if (last_words_.size() > kept_words) {
                last_words_.erase(0, last_words_.size() - kept_words);
            }
        }
        if (handlers_.on_log) {
            handlers_.on_log(std::move(line));
        }
    }

    void closed(const environment::call_error& why) {
        if (std::exchange(closed_, true)) {
            return;
        }
        if (why.kind == environment::call_error_kind::protocol) {
            broke_protocol_ = why.message;
        }
        if (!running_) {
            finish();
        } else if (!stopping_) {
            // Without its streams it is of no use, and it may be on its way out already: give it the time to say how.
            after(defaults::environment_drain, [](host_process& self) { self.kill(); });
        }
    }

    void exited(process::exit_status status) {
        running_ = false;
        status_ = status;
        // What it left behind in its process group goes with it. The group's number cannot belong to anyone else yet:
        // the leader was reaped just now, and numbers are given out in turn.
        ::kill(-pid_, SIGKILL);
        if (closed_ || stopping_) {
            finish();
            return;
        }
        // Its last lines may still be in the pipes; something that it started may hold them open, though.
        after(defaults::environment_drain, [](host_process& self) { self.finish(); });
    }

    void kill() {
        if (!running_) {
            finish();
            return;
        }
        if (std::exchange(killed_, true)) {
            return;
        }
        ::kill(-pid_, SIGKILL);
        after(defaults::environment_reap, [](host_process& self) {
            self.last_words_ += "(it could not be killed)";
            self.finish();
        });
    }

    void finish() {
        if (ended_) {
            return;
        }
        std::string how = running_ ? "does not end" : process::describe(status_);
        if (broke_protocol_) {
            how = fmt::format("broke the protocol ({}), {}", *broke_protocol_, how);
        }
        end(task_failure(fmt::format("the environment host ended: {}{}{}", how,
                                     last_words_.empty() ? "" : "; its last words:\n", last_words_)));
    }

    void end(failure why) {
        if (std::exchange(ended_, true)) {
            return;
        }
        timer_.cancel();
        if (client_) {
            client_->close();
        }
        if (auto on_ended = std::exchange(handlers_, {}).on_ended) {
            on_ended(std::move(why));
        }
    }

    template<class Action>
    void after(milliseconds wait, Action action) {
        timer_.expires_after(wait);
        timer_.async_wait([self = shared_from_this(), action](boost::system::error_code ec) {
            if (!ec && !self->ended_) {
                action(*self);
            }
        });
    }

    asio::io_context& io_;
    asio::steady_timer timer_; ///< of the one wait that is next
    environment_process_handlers handlers_;
    std::shared_ptr<environment::client> client_;
    pid_t pid_ = -1;
    process::exit_status status_;
    std::string last_words_;
    std::optional<std::string> broke_protocol_;
    bool running_ = false;
    bool closed_ = false;
    bool stopping_ = false;
    bool killed_ = false;
    bool ended_ = false;
};

class owned_process final : public environment_process {
  public:
    owned_process(asio::io_context& io, process::command what, environment_process_handlers handlers)
        : io_(io), impl_(std::make_shared<host_process>(io, std::move(handlers))) {
        asio::post(io_, [impl = impl_, what = std::move(what)]() mutable { impl->start(std::move(what)); });
    }
    ~owned_process() override {
        asio::post(io_, [impl = impl_] { impl->abandon(); });
    }
    void call(std::string method, json params, milliseconds deadline,
              std::function<void(environment::call_result)> done, environment::report_handler report) override {
        asio::post(io_, [impl = impl_, method = std::move(method), params = std::move(params), deadline,
                         done = std::move(done), report = std::move(report)]() mutable {
            impl->call(std::move(method), std::move(params), deadline, std::move(done), std::move(report));
        });
    }
    void stop(bool orderly) override {
        asio::post(io_, [impl = impl_, orderly] { impl->stop(orderly); });
    }

  private:
    asio::io_context& io_;
    std::shared_ptr<host_process> impl_;
};

} // namespace

std::shared_ptr<environment_process> environment_process::start(asio::io_context& io, process::command what,
                                                                environment_process_handlers handlers) {
    return std::make_shared<owned_process>(io, std::move(what), std::move(handlers));
}

} // namespace chalk::actors
