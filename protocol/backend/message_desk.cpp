#include "protocol/backend/message_desk.hpp"

#include "protocol/backend/carrier.hpp"
#include "protocol/backend/messages.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <chrono>
#include <random>
#include <utility>

namespace chalk::backend {

namespace asio = boost::asio;

namespace {

/// Tried again often enough that a person who answers does not notice, and not so often that a server does.
constexpr gateway::retry_settings desk_retry{std::numeric_limits<unsigned>::max(), milliseconds{250},
                                             milliseconds{10'000}, milliseconds{300'000}};

constexpr unsigned bad_request = 400;
constexpr unsigned conflict = 409;
constexpr unsigned bad_gateway = 502;

class message_desk final : public gateway::message_source, public std::enable_shared_from_this<message_desk> {
  public:
    message_desk(asio::io_context& io, target to, stream of)
        : io_(io), name_(parse_uri(to.uri).value().display()), to_(std::move(to)), of_(std::move(of)), timer_(io) {}

    std::uint64_t ask(std::string body, std::function<void(gateway::answer<std::string>)> done) override {
        if (done_) {
            end(gateway::refusal{conflict, "asked_again", "the same run asked again before it had an answer"});
            carrier_.reset(); // an answer to the old request must not be taken for the new one's
        }
        done_ = std::move(done);
        failures_ = 0;
        const auto number = ++number_;
        auto asked = parse_json(body);
        if (!asked || !asked->is_object()) {
            asio::post(io_, mine([](message_desk& self) {
                           self.end(gateway::refusal{bad_request, "invalid_json", "the body is no JSON object"});
                       }));
            return number;
        }
        const auto name = asked->value("request", json());
        key_ = fmt::format("{}-message-{}", of_.id, name.is_string() ? name.get<std::string>() : "");
        body_ = next_message_request(of_, std::move(*asked));
        asio::post(io_, mine([](message_desk& self) { self.send(); }));
        return number;
    }

    void drop(std::uint64_t number) override {
        if (number == number_ && done_) {
            done_ = nullptr;
            ++number_;
            timer_.cancel();
            carrier_.reset();
        }
    }

  private:
    /// For the open request alone.
    std::function<void()> mine(std::function<void(message_desk&)> then) {
        return [weak = weak_from_this(), number = number_, then = std::move(then)] {
            if (const auto self = weak.lock(); self && self->number_ == number) {
                then(*self);
            }
        };
    }

    void send() {
        if (!carrier_) {
            carrier_ = carrier::make(io_, to_);
        }
        carrier_->ask({body_, key_, message_heartbeat},
                      [weak = weak_from_this(), number = number_](carrier_answer answer) {
                          if (const auto self = weak.lock(); self && self->number_ == number) {
                              self->answered(std::move(answer));
                          }
                      });
    }

    void answered(carrier_answer answer) {
        if (!answer) {
            const double random = std::uniform_real_distribution<double>()(random_);
            const auto wait = gateway::next_wait(desk_retry, answer.error().end, failures_++, random,
                                                 std::chrono::system_clock::now());
            if (wait) {
                send_after(*wait);
            } else {
                end(gateway::refusal{bad_gateway, "backend_refused",
                                     fmt::format("the backend {} refuses: {}", name_, answer.error().message)});
            }
        } else if (is_waiting(*answer)) {
            failures_ = 0;
            send_after(message_pause);
        } else {
            end(std::move(*answer));
        }
    }

    void send_after(milliseconds wait) {
        timer_.expires_after(wait);
        timer_.async_wait([again = mine([](message_desk& self) { self.send(); })](const auto& stopped) {
            if (!stopped) {
                again();
            }
        });
    }

    void end(gateway::answer<std::string> how) {
        ++number_;
        timer_.cancel();
        if (const auto done = std::exchange(done_, nullptr)) {
            done(std::move(how));
        }
    }

    asio::io_context& io_;
    std::string name_;
    target to_;
    stream of_;
    asio::steady_timer timer_;
    std::shared_ptr<carrier> carrier_; ///< null until it is needed
    std::function<void(gateway::answer<std::string>)> done_;
    std::uint64_t number_ = 0; ///< of the open request
    std::string key_;
    std::string body_;
    unsigned failures_ = 0; ///< in a row
    std::minstd_rand random_{std::random_device{}()};
};

} // namespace

std::shared_ptr<gateway::message_source> make_message_desk(asio::io_context& io, const target& to, const stream& of) {
    // It ends on the io thread too, whoever lets go of it last.
    return {new message_desk(io, to, of),
            [&io](message_desk* last) { asio::post(io, [owned = std::unique_ptr<message_desk>(last)] {}); }};
}

} // namespace chalk::backend
