#include "protocol/model/external_model.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/gateway/message_source.hpp"
#include "protocol/model/external_message.hpp"
#include "protocol/net/http_client.hpp"
#include "protocol/net/http_status.hpp"

#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::model {

namespace {

constexpr std::size_t most_answer = std::size_t{32} << 20U;
constexpr milliseconds ask_again{500};

/// One open turn after the other. Lives on the io thread.
class asking : public std::enable_shared_from_this<asking> {
  public:
    asking(boost::asio::io_context& io, net::http_address gateway)
        : client_(net::http_client::make(io, std::move(gateway))), pause_(io) {}

    void begin(request what, std::function<void(turn_result)> done) {
        asked_ = std::move(what);
        done_ = std::move(done);
        until_ = boost::asio::steady_timer::clock_type::now() + asked_.deadline;
        body_ = dump_json(external_request(asked_));
        post();
    }

    void cancel() {
        done_ = nullptr;
        pause_.cancel();
        client_->cancel();
    }

  private:
    void post() {
        status_ = 0;
        answer_.clear();
        const auto left =
            std::chrono::duration_cast<milliseconds>(until_ - boost::asio::steady_timer::clock_type::now());
        const auto weak = weak_from_this();
        client_->post({std::string(gateway::next_message_path), {{"Content-Type", "application/json"}}, body_},
                      std::max(left, milliseconds{1}),
                      {[weak](const net::http_head& head) {
                           if (const auto self = weak.lock()) {
                               self->status_ = head.status;
                           }
                       },
                       [weak](std::string_view data) {
                           const auto self = weak.lock();
                           if (!self) {
                               return false;
                           }
                           self->answer_ += data;
                           return self->answer_.size() <= most_answer;
                       },
                       [weak](const std::optional<net::http_problem>& problem) {
                           if (const auto self = weak.lock(); self && self->done_) {
                               self->ended(problem);
                           }
                       }});
    }

    void ended(const std::optional<net::http_problem>& problem) {
        const auto now = boost::asio::steady_timer::clock_type::now();
        if (problem && (problem->kind == net::http_problem::what::deadline || now >= until_)) {
            end(timeout_failure(
                fmt::format("the backend sent no message within {} s", asked_.deadline.count() / 1000)));
        } else if (problem) {
            pause_.expires_at(std::min(now + ask_again, until_));
            pause_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
                if (const auto self = weak.lock(); self && !stopped && self->done_) {
                    self->post();
                }
            });
        } else if (answer_.size() > most_answer) {
            end(model_failure(fmt::format("the backend's message has more than {} bytes", most_answer)));
        } else if (status_ != http_ok) {
            end(model_failure(refusal_text()));
        } else if (auto message = parse_external_message(answer_, asked_)) {
            end(std::move(*message));
        } else {
            end(message.error());
        }
    }

    /// Of the gateway, in the shape of its refusals.
    [[nodiscard]] std::string refusal_text() const {
        const auto parsed = parse_json(answer_);
        const json::json_pointer place("/error/message");
        if (parsed && parsed->contains(place) && (*parsed)[place].is_string()) {
            return (*parsed)[place].get<std::string>();
        }
        return fmt::format("the gateway answered HTTP {} to the request for the next message", status_);
    }

    /// With the step and turn, which the failure's own words do not know.
    void end(turn_result how) {
        if (!how) {
            auto failed = how.error();
            failed.why.message =
                fmt::format("external agent, step {}, turn {}: {}", asked_.step, asked_.turn, failed.why.message);
            how = std::move(failed);
        }
        std::exchange(done_, nullptr)(std::move(how));
    }
    void end(failure why) { end(turn_result(turn_failure(std::move(why)))); }

    std::shared_ptr<net::http_client> client_;
    boost::asio::steady_timer pause_;
    request asked_;
    std::function<void(turn_result)> done_;
    boost::asio::steady_timer::time_point until_;
    std::string body_;
    unsigned status_ = 0;
    std::string answer_;
};

class external_model final : public model {
  public:
    external_model(boost::asio::io_context& io, net::http_address gateway)
        : io_(io), asking_(std::make_shared<asking>(io, std::move(gateway))) {}

    ~external_model() override {
        boost::asio::post(io_, [asking = std::move(asking_)] { asking->cancel(); });
    }

    void next_turn(request what, std::function<void(turn_result)> done) override {
        auto guarded = [alive = std::weak_ptr(alive_), done = std::move(done)](turn_result how) {
            if (!alive.expired()) {
                done(std::move(how));
            }
        };
        boost::asio::post(io_, [asking = asking_, what = std::move(what), guarded = std::move(guarded)]() mutable {
            asking->begin(std::move(what), std::move(guarded));
        });
    }

  private:
    boost::asio::io_context& io_;
    std::shared_ptr<asking> asking_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
};

} // namespace

result<void> check_external_model(const model_settings& settings) {
    if (settings.gateway_socket.empty()) {
        return config_failure("agent external: its messages come through a model gateway, and this run has none");
    }
    if (auto where = net::http_address::parse(settings.gateway_socket); !where) {
        return config_failure("model gateway: " + where.error().message);
    }
    return {};
}

result<std::unique_ptr<model>> make_external_model(boost::asio::io_context& io, const model_settings& settings) {
    if (auto checked = check_external_model(settings); !checked) {
        return checked.error();
    }
    return std::unique_ptr<model>(
        std::make_unique<external_model>(io, net::http_address::parse(settings.gateway_socket).value()));
}

} // namespace chalk::model
