#include "protocol/model/api_model.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/model/api_choice.hpp"
#include "protocol/model/dialect/provider_error.hpp"
#include "protocol/model/estimated_tokens.hpp"
#include "protocol/net/http_client.hpp"
#include "protocol/net/http_status.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <algorithm>

namespace chalk::model {

namespace {

/// Of a whole stream, of one event in it (the Responses API repeats the turn in its last one), of an error's body.
constexpr std::size_t most_stream = std::size_t{128} << 20U;
constexpr std::size_t most_event = std::size_t{32} << 20U;
constexpr std::size_t most_error = std::size_t{1} << 20U;
/// From a turn's last event to the end of its stream: a connection that ends in order can be kept.
constexpr milliseconds stream_end{1'000};

/// A stream that breaks off mostly does so before it says what it cost.
void estimate_missing(turn& half, std::size_t asked) {
    std::size_t said = half.text.size() + half.reasoning.size();
    for (const auto& call : half.tool_calls) {
        said += dump_json(call.arguments).size();
    }
    half.usage.output = std::max(half.usage.output, estimated_tokens(said));
    if (half.usage.input == 0) {
        half.usage.input = estimated_tokens(asked);
    }
}

/// One request: what its response turns into. Lives on the io thread.
class exchange {
  public:
    exchange(std::string name, std::size_t asked, std::unique_ptr<turn_reader> reader)
        : name_(std::move(name)), asked_(asked), reader_(std::move(reader)) {}

    void on_head(const net::http_head& head) {
        status_ = head.status;
        const auto type = head.header("content-type");
        streams_ = status_ == http_ok && (type.empty() || type.find("event-stream") != std::string_view::npos);
        for (const auto* key : {"x-request-id", "request-id"}) {
            request_id_ = request_id_.empty() ? std::string(head.header(key)) : request_id_;
        }
    }

    /// False once more would be of no use.
    bool on_data(std::string_view data, const std::function<void()>& turn_is_over) {
        received_ += data.size();
        if (!streams_) {
            error_body_ += data.substr(0, most_error - std::min(most_error, error_body_.size()));
            return error_body_.size() < most_error;
        }
        if (over_) {
            return received_ <= most_stream;
        }
        if (!sse_.feed(data, [this](sse_event&& e) { return reader_->on_event(std::move(e)); })) {
            if (sse_.too_long()) {
                too_much_ = fmt::format("one event of the stream has more than {} bytes", most_event);
                return false;
            }
            over_ = true;
            turn_is_over();
        } else if (received_ > most_stream) {
            too_much_ = fmt::format("the stream has more than {} bytes and no end", most_stream);
            return false;
        }
        return true;
    }

    turn_result on_end(const std::optional<net::http_problem>& problem) {
        auto ended = outcome_of(problem);
        if (ended) {
            return ended;
        }
        auto failed = ended.error();
        failed.why.message = fmt::format("{}: {}", name_, failed.why.message);
        if (streams_) {
            estimate_missing(failed.half, asked_);
        }
        return failed;
    }

  private:
    turn_result outcome_of(const std::optional<net::http_problem>& problem) {
        using what = turn_failure::what;
        using trouble = net::http_problem::what;
        if (!too_much_.empty()) {
            return turn_failure(model_failure(too_much_), what::ended, reader_->take_half());
        }
        if (problem && problem->kind == trouble::deadline && !over_) {
            return turn_failure(timeout_failure(status_ == 0 ? "no response within the deadline"
                                                             : "the response did not end within the deadline"),
                                what::ended, reader_->take_half());
        }
        if (status_ == 0 && problem) {
            const bool nobody = problem->kind == trouble::connect;
            return turn_failure(
                model_failure((nobody ? "the gateway cannot be reached: " : "the gateway: ") + problem->message),
                nobody ? what::ended : what::aborted);
        }
        if (!streams_) {
            auto failed = failure_of_response(status_, std::move(error_body_), request_id_);
            if (status_ == http_ok) {
                failed.why.message = "the answer is no stream of events: " + failed.why.message;
            }
            return failed;
        }
        if (!over_) {
            (void)sse_.finish([this](sse_event&& e) { return reader_->on_event(std::move(e)); });
        }
        return reader_->finish(problem ? problem->message : std::string());
    }

    std::string name_;
    std::size_t asked_; ///< bytes of the request
    std::unique_ptr<turn_reader> reader_;
    sse_parser sse_{most_event};
    unsigned status_ = 0; ///< 0 until there is a response
    bool streams_ = false;
    bool over_ = false; ///< the reader needs no more
    std::string too_much_;
    std::string error_body_;
    std::string request_id_;
    std::size_t received_ = 0;
};

class api_model final : public model {
  public:
    api_model(boost::asio::io_context& io, api_choice choice, net::http_address gateway)
        : io_(io), choice_(std::move(choice)), client_(net::http_client::make(io, std::move(gateway))) {}

    ~api_model() override {
        boost::asio::post(io_, [client = std::move(client_)] { client->cancel(); });
    }

    void next_turn(request what, std::function<void(turn_result)> done) override {
        auto asked = choice_.speaks->make_request(what, choice_.name, choice_.args);
        net::http_request out{std::move(asked.target), std::move(asked.headers), dump_json(asked.body)};
        out.headers.emplace_back("Content-Type", "application/json");
        out.headers.emplace_back("Accept", "text/event-stream");
        out.headers.emplace_back("X-Chalk-Model", choice_.full_name);
        auto open = std::make_shared<exchange>(
            fmt::format("{}, step {}, turn {}", choice_.full_name, what.step, what.turn), out.body.size(),
            choice_.speaks->make_reader(fmt::format("call_{}_{}", what.step, what.turn)));
        std::weak_ptr<net::http_client> client = client_;
        net::http_handlers handlers{
            [open](const net::http_head& head) { open->on_head(head); },
            [open, client](std::string_view data) {
                return open->on_data(data, [&] {
                    if (const auto alive = client.lock()) {
                        alive->shorten(stream_end);
                    }
                });
            },
            [open, done = std::move(done), alive = std::weak_ptr(alive_)](std::optional<net::http_problem> problem) {
                if (!alive.expired()) {
                    done(open->on_end(problem));
                }
            }};
        boost::asio::post(io_, [client = client_, out = std::move(out), deadline = what.deadline,
                                handlers = std::move(handlers)]() mutable {
            client->post(std::move(out), deadline, std::move(handlers));
        });
    }

  private:
    boost::asio::io_context& io_;
    api_choice choice_;
    std::shared_ptr<net::http_client> client_;
    std::shared_ptr<char> alive_ = std::make_shared<char>();
};

} // namespace

result<void> check_api_model(const model_settings& settings) {
    if (settings.name.empty()) {
        return config_failure("model: no model is named; name one as PROVIDER/NAME, or set \"use_fake_model\": true "
                              "and give \"fake_model\" a script");
    }
    if (auto choice = choose_api(settings.name, settings.args); !choice) {
        return choice.error();
    }
    if (settings.gateway_socket.empty()) {
        return config_failure(
            fmt::format("model: \"{}\" is asked through a model gateway, and this run has none", settings.name));
    }
    if (auto where = net::http_address::parse(settings.gateway_socket); !where) {
        return config_failure("model gateway: " + where.error().message);
    }
    return {};
}

result<std::unique_ptr<model>> make_api_model(boost::asio::io_context& io, const model_settings& settings) {
    if (auto checked = check_api_model(settings); !checked) {
        return checked.error();
    }
    return std::unique_ptr<model>(
        std::make_unique<api_model>(io, choose_api(settings.name, settings.args).value(),
                                    net::http_address::parse(settings.gateway_socket).value()));
}

} // namespace chalk::model
