#include "protocol/backend/carrier.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/gateway/key_filter.hpp"
#include "protocol/net/curl_client.hpp"
#include "protocol/net/http_status.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace chalk::backend {

namespace {

constexpr std::size_t shown = 200;

class http_carrier final : public carrier, public std::enable_shared_from_this<http_carrier> {
  public:
    http_carrier(boost::asio::io_context& io, const target& to) : io_(io), to_(to) {}

    void ask(carrier_request what, std::function<void(carrier_answer)> done) override {
        done_ = std::move(done);
        if (!client_) {
            auto made = curl::http_client::make(io_, {to_.ca_file, false});
            if (!made) {
                end_later(trouble{{}, made.error().message});
                return;
            }
            client_ = std::move(*made);
        }
        curl::http_request request;
        request.url = to_.uri;
        request.headers = {{"content-type", "application/json"}, {"idempotency-key", what.idempotency_key}};
        if (!to_.token.empty()) {
            request.headers.emplace_back("authorization", "Bearer " + to_.token);
        }
        request.body = std::make_shared<const std::string>(std::move(what.body));
        request.connect_deadline = connect_deadline;
        request.idle_deadline = what.deadline;
        request.deadline = what.deadline;
        head_ = {};
        body_.clear();
        const auto weak = weak_from_this();
        transfer_ = client_->start(std::move(request), {[weak](curl::http_head head) {
                                                            if (const auto self = weak.lock()) {
                                                                self->head_ = std::move(head);
                                                            }
                                                        },
                                                        [weak](std::string_view bytes) {
                                                            if (const auto self = weak.lock()) {
                                                                self->take(bytes);
                                                            }
                                                        },
                                                        [weak](const result<void>& how) {
                                                            if (const auto self = weak.lock()) {
                                                                self->ended(how);
                                                            }
                                                        }});
    }

    void cancel() override {
        done_ = nullptr;
        transfer_.reset();
    }

  private:
    void take(std::string_view bytes) {
        body_ += bytes;
        if (body_.size() > most_answer) {
            transfer_->cancel();
            end_later(trouble{{}, fmt::format("its answer has more than {} bytes", most_answer)});
        }
    }

    void ended(const result<void>& how) {
        if (!how) {
            end(trouble{{}, how.error().message});
        } else if (head_.status != http_ok) {
            auto text = fmt::format("HTTP {}", head_.status);
            if (const auto said = without_token(body_); !said.empty()) {
                text += ": " + to_valid_utf8(said.substr(0, shown));
            }
            end(trouble{{head_.status, std::move(head_.headers)}, std::move(text)});
        } else {
            end(without_token(body_));
        }
    }

    /// What comes back goes on to the run's log and to its agent.
    [[nodiscard]] std::string without_token(std::string_view text) const {
        return gateway::key_filter(to_.token).clean(text);
    }

    void end(carrier_answer answer) {
        transfer_.reset();
        if (const auto done = std::exchange(done_, nullptr)) {
            done(std::move(answer));
        }
    }

    void end_later(trouble why) {
        boost::asio::post(io_, [weak = weak_from_this(), why = std::move(why)] {
            if (const auto self = weak.lock()) {
                self->end(why);
            }
        });
    }

    boost::asio::io_context& io_;
    target to_;
    std::unique_ptr<curl::http_client> client_;
    std::unique_ptr<curl::http_transfer> transfer_;
    std::function<void(carrier_answer)> done_;
    curl::http_head head_;
    std::string body_;
};

} // namespace

void throw_exception_from_error(const trouble& why, const boost::source_location&) {
    throw std::logic_error("value() of a backend's trouble: " + why.message);
}

std::shared_ptr<carrier> carrier::make(boost::asio::io_context& io, const target& to) {
    const auto where = parse_uri(to.uri).value();
    if (where.websocket) {
        return make_websocket_carrier(io, where, to);
    }
    return std::make_shared<http_carrier>(io, to);
}

} // namespace chalk::backend
