#include "protocol/environment/client.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/environment/line_splitter.hpp"
#include "protocol/environment/log_rate.hpp"
#include "protocol/environment/message.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <fmt/format.h>

#include <array>
#include <deque>
#include <map>
#include <set>
#include <stdexcept>

namespace chalk::environment {

namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using done_handler = std::function<void(call_result)>;

constexpr std::size_t max_line = 64U * 1024 * 1024;
constexpr std::size_t max_error_line = 8U * 1024;
constexpr std::uint32_t log_lines_a_second = 1'000;
constexpr std::uint32_t progress_a_second = 1'000;
/// Last words that are still read from the error stream when the host has gone; a grandchild may hold that stream open.
constexpr std::size_t max_last_words = 1024U * 1024;

struct open_call {
    milliseconds deadline{};
    clock::time_point due;
    done_handler done;
    report_handler report; ///< empty: nobody listens
};

/// Lives on the io thread alone; kept alive by its pending reads until finish() cancels them. A write to a host that
/// died raises SIGPIPE, which io_thread blocks.
class connection : public std::enable_shared_from_this<connection> {
  public:
    connection(asio::io_context& io, unique_fd input, unique_fd output, unique_fd errors, client_handlers handlers)
        : input_(io, input.release()), output_(io, output.release()), errors_(io, errors.release()), timer_(io),
          handlers_(std::move(handlers)) {}

    void start() {
        errors_.non_blocking(true);
        read_output();
        read_errors();
    }

    void call(std::string_view method, const json& params, milliseconds deadline, done_handler done,
              report_handler report) {
        if (finished_) {
            return done(call_error{call_error_kind::closed, 0, "the environment host is gone", {}});
        }
        auto id = ++last_id_;
        auto due = clock::now() + deadline;
        send(request_line(id, method, params));
        calls_.emplace(id, open_call{deadline, due, std::move(done), std::move(report)});
        due_.emplace(due, id);
        if (due_.begin()->second == id) {
            arm();
        }
    }

    void finish(const call_error& why) {
        if (finished_) {
            return;
        }
        drain_errors();
        finished_ = true;
        boost::system::error_code ignored; // closing: there is nobody to tell
        input_.close(ignored);
        output_.close(ignored);
        errors_.close(ignored);
        timer_.cancel();
        auto calls = std::exchange(calls_, {});
        due_.clear();
        for (auto& [id, call] : calls) {
            call.done(why);
        }
        if (auto on_closed = std::exchange(handlers_, {}).on_closed) {
            on_closed(why);
        }
    }

  private:
    void violate(const std::string& reason) { finish({call_error_kind::protocol, 0, reason, {}}); }

    void send(std::string line) {
        outbox_.push_back(std::move(line) + '\n');
        if (outbox_.size() == 1) {
            write_next();
        }
    }

    void write_next() {
        asio::async_write(input_, asio::buffer(outbox_.front()),
                          [self = shared_from_this()](boost::system::error_code error, std::size_t) {
                              // After an error: it died with the request unread. The end of its output says so, after
                              // its last answers; a host that closed its input alone runs into the calls' deadlines.
                              if (self->finished_ || error) {
                                  return;
                              }
                              self->outbox_.pop_front();
                              if (!self->outbox_.empty()) {
                                  self->write_next();
                              }
                          });
    }

    void read_output() {
        output_.async_read_some(
            asio::buffer(output_buffer_), [self = shared_from_this()](boost::system::error_code error, std::size_t n) {
                if (self->finished_) {
                    return;
                }
                if (error) {
                    return self->finish({call_error_kind::closed,
                                         0,
                                         error == asio::error::eof
                                             ? "the environment host ended"
                                             : fmt::format("reading from the environment host: {}", error.message()),
                                         {}});
                }
                bool fits = self->output_lines_.feed({self->output_buffer_.data(), n}, [&](std::string&& line) {
                    self->on_message(line);
                    return !self->finished_;
                });
                if (self->finished_) {
                    return;
                }
                if (!fits) {
                    return self->violate("a line longer than 64 MiB");
                }
                self->read_output();
            });
    }

    void on_message(std::string_view line) {
        auto parsed = parse_message(line);
        if (auto* reply = std::get_if<answer>(&parsed)) {
            return on_answer(*reply);
        }
        if (auto* note = std::get_if<log_note>(&parsed)) {
            return this->log(std::move(note->line), note->call);
        }
        if (const auto* note = std::get_if<progress_note>(&parsed)) {
            if (progress_rate_.on_line(clock::now()).admit) {
                report(note->call, note->progress);
            }
            return;
        }
        violate(std::get<violation>(parsed).reason);
    }

    void on_answer(answer& reply) {
        if (abandoned_.erase(reply.id) > 0) {
            return; // its deadline passed; nobody waits any more
        }
        auto found = calls_.find(reply.id);
        if (found == calls_.end()) {
            return violate(fmt::format("an answer to call {}, which is not open", reply.id));
        }
        auto call = std::move(found->second);
        calls_.erase(found);
        due_.erase({call.due, reply.id}); // the timer finds nothing due, and looks for the next one then
        call.done(std::move(reply.value));
    }

    void arm() {
        timer_.expires_at(due_.begin()->first);
        timer_.async_wait([self = shared_from_this()](boost::system::error_code error) {
            if (!error && !self->finished_) {
                self->expire();
            }
        });
    }

    void expire() {
        auto now = clock::now();
        while (!finished_ && !due_.empty() && due_.begin()->first <= now) {
            auto id = due_.begin()->second;
            due_.erase(due_.begin());
            auto found = calls_.find(id);
            auto call = std::move(found->second);
            calls_.erase(found);
            abandoned_.insert(id);
            send(cancel_line(id));
            call.done(call_error{call_error_kind::timeout,
                                 0,
                                 fmt::format("no answer from the environment within {} ms", call.deadline.count()),
                                 {}});
        }
        if (!finished_ && !due_.empty()) {
            arm();
        }
    }

    /// Waits, then reads at once: a read that had completed but whose handler still waits its turn would be lost when
    /// finish() drains the stream.
    void read_errors() {
        errors_.async_wait(asio::posix::stream_descriptor::wait_read,
                           [self = shared_from_this()](boost::system::error_code error) {
                               if (self->finished_ || error) {
                                   return;
                               }
                               auto n = self->errors_.read_some(asio::buffer(self->error_buffer_), error);
                               if (error && error != asio::error::would_block) {
                                   return; // its end alone means nothing
                               }
                               self->feed_errors(n);
                               self->read_errors();
                           });
    }

    void feed_errors(std::size_t n) {
        error_lines_.feed({error_buffer_.data(), n}, [this](std::string&& line) {
            log({log_level::warning, "environment", to_valid_utf8(std::move(line))});
            return !finished_;
        });
    }

    /// What a dying host printed last says why it died.
    void drain_errors() {
        for (std::size_t total = 0; total < max_last_words;) {
            boost::system::error_code error;
            auto n = errors_.read_some(asio::buffer(error_buffer_), error);
            if (error || n == 0) {
                break;
            }
            total += n;
            feed_errors(n);
        }
        if (auto rest = error_lines_.take_rest(); !rest.empty()) {
            log({log_level::warning, "environment", to_valid_utf8(std::move(rest))});
        }
        say_dropped(rate_.take_dropped());
    }

    /// A call that is not open any more has nobody to report to.
    void report(std::uint64_t id, const call_report& what) {
        const auto found = calls_.find(id);
        if (found != calls_.end() && found->second.report) {
            found->second.report(what);
        }
    }

    void log(log_line line, std::optional<std::uint64_t> of_call = std::nullopt) {
        auto verdict = rate_.on_line(clock::now());
        if (!verdict.admit || !handlers_.on_log) {
            return;
        }
        say_dropped(verdict.dropped_before);
        if (of_call) {
            report(*of_call, line);
        }
        handlers_.on_log(std::move(line));
    }

    void say_dropped(std::uint64_t count) {
        if (count > 0 && handlers_.on_log) {
            handlers_.on_log({log_level::warning, "chalk",
                              fmt::format("{} log lines of the environment were dropped (at most {} a second)", count,
                                          log_lines_a_second)});
        }
    }

    asio::posix::stream_descriptor input_;
    asio::posix::stream_descriptor output_;
    asio::posix::stream_descriptor errors_;
    asio::steady_timer timer_; ///< one, for the earliest of due_
    client_handlers handlers_;
    bool finished_ = false;
    std::uint64_t last_id_ = 0;
    std::map<std::uint64_t, open_call> calls_;
    std::set<std::pair<clock::time_point, std::uint64_t>> due_;
    std::set<std::uint64_t> abandoned_; ///< calls whose deadline passed and whose answer did not come yet
    std::deque<std::string> outbox_;
    // Not filled with zeros: most of a short run's pages of them are never touched.
    std::array<char, 64UL * 1024> output_buffer_;
    std::array<char, 16UL * 1024> error_buffer_;
    line_splitter output_lines_{max_line, line_splitter::overflow::refuse};
    line_splitter error_lines_{max_error_line, line_splitter::overflow::cut};
    log_rate rate_{log_lines_a_second};
    log_rate progress_rate_{progress_a_second}; ///< what is dropped is out of date soon anyway
};

/// The owner's end: when it goes, the connection is closed.
class connected_client final : public client {
  public:
    connected_client(asio::io_context& io, std::shared_ptr<connection> target) : io_(io), target_(std::move(target)) {}
    ~connected_client() override { connected_client::close(); }

    void call(std::string method, json params, milliseconds deadline, done_handler done,
              report_handler report) override {
        asio::post(io_, [target = target_, method = std::move(method), params = std::move(params), deadline,
                         done = std::move(done), report = std::move(report)]() mutable {
            target->call(method, params, deadline, std::move(done), std::move(report));
        });
    }

    void close() override {
        asio::post(io_, [target = target_] {
            target->finish({call_error_kind::closed, 0, "the harness closed the environment host", {}});
        });
    }

  private:
    asio::io_context& io_;
    std::shared_ptr<connection> target_;
};

} // namespace

void throw_exception_from_error(const call_error& why, const boost::source_location&) {
    throw std::logic_error("value() of a failed call: " + why.message);
}

std::shared_ptr<client> client::open(asio::io_context& io, unique_fd input, unique_fd output, unique_fd error_stream,
                                     client_handlers handlers) {
    auto target = std::make_shared<connection>(io, std::move(input), std::move(output), std::move(error_stream),
                                               std::move(handlers));
    asio::post(io, [target] { target->start(); });
    return std::make_shared<connected_client>(io, target);
}

} // namespace chalk::environment
