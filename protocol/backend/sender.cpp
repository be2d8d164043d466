#include "protocol/backend/sender.hpp"

#include "protocol/backend/carrier.hpp"
#include "protocol/backend/messages.hpp"
#include "protocol/core/overloaded.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <chrono>
#include <deque>
#include <random>
#include <utility>

namespace chalk::backend {

namespace asio = boost::asio;

namespace {

/// Lives on the io thread.
class sending : public std::enable_shared_from_this<sending> {
  public:
    sending(asio::io_context& io, const target& to, stream of, sender_handlers on)
        : name_(parse_uri(to.uri).value().display()), of_(std::move(of)), on_(std::move(on)),
          carrier_(carrier::make(io, to)), timer_(io) {}

    void publish(std::string line, bool final) {
        const auto size = line.size();
        lines_.push_back(std::move(line));
        obey(delivery_.add(size, final));
    }

    void end() { obey(delivery_.end()); }

    void close() {
        on_ = {};
        timer_.cancel();
        carrier_->cancel();
    }

  private:
    void obey(const delivery::commands& all) {
        for (const auto& one : all) {
            std::visit(overloaded{[this](const delivery::send& c) { send(c); },
                                  [this](const delivery::pause& c) { pause(c.wait); },
                                  [this](const delivery::forget& c) { forget(c.up_to); },
                                  [this](const delivery::say& c) { say(c); },
                                  [this](const delivery::settle& c) { settle(c); }},
                       one);
        }
    }

    void send(const delivery::send& what) {
        events_message message(of_);
        for (auto seq = what.first; seq <= what.last; ++seq) {
            message.add(lines_[seq - forgotten_ - 1]);
        }
        carrier_->ask(
            {std::move(message).finish(), fmt::format("{}-{}-{}", of_.id, what.first, what.last), events_deadline},
            [weak = weak_from_this()](const carrier_answer& answer) {
                if (const auto self = weak.lock()) {
                    self->answered(answer);
                }
            });
    }

    void answered(const carrier_answer& answer) {
        if (!answer) {
            failed(answer.error());
        } else if (const auto seq = parse_acknowledged(*answer)) {
            obey(delivery_.on_acknowledged(*seq));
        } else {
            failed(trouble{{}, seq.error().message});
        }
    }

    void failed(const trouble& why) {
        const double random = std::uniform_real_distribution<double>()(random_);
        obey(delivery_.on_trouble(why, random, std::chrono::system_clock::now()));
    }

    void pause(milliseconds wait) {
        timer_.expires_after(wait);
        timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
            if (const auto self = weak.lock(); self && !stopped) {
                self->obey(self->delivery_.on_pause_over());
            }
        });
    }

    void forget(std::uint64_t up_to) {
        lines_.erase(lines_.begin(), lines_.begin() + static_cast<std::ptrdiff_t>(up_to - forgotten_));
        forgotten_ = up_to;
    }

    void say(const delivery::say& what) {
        if (on_.on_say) {
            on_.on_say({what.level, fmt::format("backend {}: {}", name_, what.text)});
        }
    }

    void settle(const delivery::settle& how) {
        carrier_->cancel();
        if (const auto told = std::exchange(on_, {}).on_settled) {
            told(how);
        }
    }

    std::string name_;
    stream of_;
    sender_handlers on_;
    std::shared_ptr<carrier> carrier_;
    asio::steady_timer timer_;
    delivery delivery_;
    std::deque<std::string> lines_; ///< from number forgotten_ + 1 on
    std::uint64_t forgotten_ = 0;
    std::minstd_rand random_{std::random_device{}()};
};

class sender_impl final : public sender {
  public:
    sender_impl(asio::io_context& io, std::shared_ptr<sending> impl) : io_(io), impl_(std::move(impl)) {}
    ~sender_impl() override {
        asio::post(io_, [impl = std::move(impl_)] { impl->close(); });
    }
    void publish(std::string line, bool final) override {
        asio::post(io_,
                   [impl = impl_, line = std::move(line), final]() mutable { impl->publish(std::move(line), final); });
    }
    void end() override {
        asio::post(io_, [impl = impl_] { impl->end(); });
    }

  private:
    asio::io_context& io_;
    std::shared_ptr<sending> impl_;
};

} // namespace

std::unique_ptr<sender> sender::make(asio::io_context& io, const target& to, const stream& of, sender_handlers on) {
    return std::make_unique<sender_impl>(io, std::make_shared<sending>(io, to, of, std::move(on)));
}

} // namespace chalk::backend
