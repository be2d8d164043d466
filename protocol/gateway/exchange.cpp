#include "protocol/gateway/exchange.hpp"

#include <boost/asio/post.hpp>
#include <fmt/format.h>

#include <array>
#include <utility>

namespace chalk::gateway {

namespace {

/// Of an answer's headers; the others (cookies, the account's name and limits) are between gateway and provider.
constexpr std::array<std::string_view, 6> answer_headers = {"content-type",   "request-id",   "retry-after",
                                                            "retry-after-ms", "x-request-id", "x-should-retry"};

/// An error's body that may say how long to wait: bytes, and for how long it is waited for.
constexpr std::size_t longest_held = 64U << 10U;
constexpr seconds held_deadline{5};

bool is_good(unsigned status) {
    return status >= 200 && status < 300;
}

bool is_limit(unsigned status) {
    return status == 429 || status == 529;
}

curl::http_head passed(const curl::http_head& from, const key_filter& filter) {
    curl::http_head out{from.status, {}};
    for (const auto name : answer_headers) {
        if (const auto value = curl::find_header(from.headers, name); !value.empty()) {
            out.headers.emplace_back(name, filter.clean(value));
        }
    }
    // All that could be tried again was: a client that tries again would multiply the attempts.
    if (!is_good(from.status) && curl::find_header(out.headers, "x-should-retry").empty()) {
        out.headers.emplace_back("x-should-retry", "false");
    }
    return out;
}

} // namespace

exchange::exchange(std::shared_ptr<upstream> up, std::shared_ptr<account> payer, call what, exchange_handlers on)
    : up_(std::move(up)), payer_(std::move(payer)), what_(std::move(what)), on_(std::move(on)),
      deadline_(clock::now() + up_->deadline), timer_(up_->io) {}

answer<std::shared_ptr<exchange>> exchange::begin(std::shared_ptr<upstream> up, std::shared_ptr<account> payer,
                                                  call what, const curl::http_headers& from_client,
                                                  exchange_handlers on) {
    auto model = payer->admit(what);
    if (!model) {
        return model.error();
    }
    const auto name = parse_model_name(*model);
    if (!name) {
        return refusal{500, "wrong_model", name.error().message};
    }
    auto made = std::make_shared<exchange>(std::move(up), std::move(payer), std::move(what), std::move(on));
    made->model_ = std::move(*model);
    made->waits_ = clock::now();
    made->payer_->begin_wait(*made->waits_);
    if (made->up_->stored != store_mode::none) {
        made->key_ = {made->what_.digest, made->payer_->seed(), made->payer_->next_ordinal(made->what_.digest)};
    }
    if (made->up_->stored == store_mode::replay) {
        made->replay();
        return made;
    }
    auto way = find_route(made->up_->providers, *name, made->payer_->base_url(), made->what_, from_client);
    if (!way) {
        return way.error();
    }
    made->route_ = std::move(*way);
    made->body_ = std::make_shared<const std::string>(std::move(made->route_.body));
    made->wait_for_turn();
    return made;
}

void exchange::replay() {
    boost::asio::post(up_->io, [self = shared_from_this()] {
        if (self->over_) {
            return;
        }
        auto found = self->up_->store.load(self->key_);
        if (!found) {
            self->over_ = true;
            self->stop_waiting();
            self->on_.on_refusal({404, "no_recording", found.error().message});
            return;
        }
        self->head_came(std::move(found->head));
        self->data_came(found->body);
        if (!self->over_) {
            self->settle(found->whole);
        }
    });
}

milliseconds exchange::time_left() const {
    return std::chrono::duration_cast<milliseconds>(deadline_ - clock::now());
}

void exchange::stop_waiting() {
    if (const auto since = std::exchange(waits_, std::nullopt)) {
        payer_->end_wait(*since, clock::now());
    }
}

void exchange::wait_for_turn() {
    // Its deadline also ends the wait.
    timer_.expires_at(deadline_);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
        const auto self = weak.lock();
        if (self && !stopped && !self->over_ && self->turn_) {
            self->up_->turns->forget(self->model_, *std::exchange(self->turn_, std::nullopt));
            self->give_up(timeout_failure("it waited for its turn"));
        }
    });
    turn_ = up_->turns->ask(model_, [weak = weak_from_this(), turns = std::weak_ptr(up_->turns), model = model_] {
        const auto self = weak.lock();
        if (self && !self->over_) {
            self->send();
        } else if (const auto others = turns.lock()) {
            others->ended(model, concurrency::how::other, clock::now());
        }
    });
}

void exchange::send() {
    turn_.reset();
    timer_.cancel();
    began_ = clock::now();
    curl::http_request request;
    request.url = route_.url;
    request.headers = route_.headers;
    request.body = body_;
    request.deadline = std::max(time_left(), milliseconds(1));
    request.idle_deadline = up_->idle;
    const auto weak = weak_from_this();
    transfer_ = up_->client->start(std::move(request), {[weak](curl::http_head head) {
                                                            if (const auto self = weak.lock()) {
                                                                self->head_came(std::move(head));
                                                            }
                                                        },
                                                        [weak](std::string_view bytes) {
                                                            if (const auto self = weak.lock()) {
                                                                self->data_came(bytes);
                                                            }
                                                        },
                                                        [weak](const result<void>& how) {
                                                            if (const auto self = weak.lock()) {
                                                                self->transfer_ended(how);
                                                            }
                                                        }});
}

void exchange::head_came(curl::http_head head) {
    if (over_) {
        return;
    }
    if (up_->stored == store_mode::replay || !may_ask_in_body(head.status, head.headers)) {
        answer_came(head);
        return;
    }
    held_.emplace(held_error{std::move(head), {}});
    timer_.expires_after(held_deadline);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
        const auto self = weak.lock();
        if (self && !stopped && !self->over_ && self->held_) {
            self->release_error();
        }
    });
}

/// From here on it is as if the wait had been in a header.
void exchange::release_error() {
    timer_.cancel();
    auto held = std::move(*held_);
    held_.reset();
    if (const auto wait = asked_wait_in_body(held.body)) {
        held.head.headers.emplace_back("retry-after-ms", std::to_string(wait->count()));
    }
    answer_came(held.head);
    data_came(held.body); // of an answer that is passed on
}

void exchange::answer_came(const curl::http_head& head) {
    if (!is_good(head.status)) {
        const auto wait = is_limit(head.status) ? asked_wait(head.headers, std::chrono::system_clock::now())
                                                : std::optional<milliseconds>();
        leave_turn(is_limit(head.status) ? concurrency::how::limited : concurrency::how::other,
                   wait && *wait <= up_->retry.longest_asked ? wait : std::nullopt);
        if (up_->stored != store_mode::replay && try_again({head.status, head.headers})) {
            transfer_.reset();
            return;
        }
    }
    // Servers repeat in their errors what they were sent, and an error may also be an event of a stream that began
    // well.
    filter_.emplace(route_.key);
    head_ = passed(head, *filter_);
    watch_.emplace(what_.which, curl::find_header(head_->headers, "content-type").starts_with("text/event-stream"));
    on_.on_head(*head_);
}

void exchange::data_came(std::string_view bytes) {
    if (held_) {
        held_->body += bytes;
        if (held_->body.size() > longest_held) {
            release_error();
        }
        return;
    }
    if (over_ || !head_) {
        return;
    }
    watch_->see(bytes);
    pass_on(filter_->pass(bytes));
}

void exchange::pass_on(std::string_view bytes) {
    if (bytes.empty()) {
        return; // kept back
    }
    if (up_->stored == store_mode::record) {
        recorded_ += bytes;
    }
    on_.on_data(bytes);
}

void exchange::transfer_ended(const result<void>& how) {
    if (over_) {
        return;
    }
    if (held_) {
        release_error();
        if (over_ || !head_) {
            return; // whoever asked is gone, or it is asked again
        }
    }
    if (head_) {
        settle(how.has_value());
        return;
    }
    leave_turn(concurrency::how::other);
    if (!try_again({})) {
        give_up(how ? model_failure("it answered nothing") : how.error());
    }
}

/// False: there is no further attempt.
bool exchange::try_again(const attempt_end& end) {
    const double random = std::uniform_real_distribution<double>()(up_->random);
    const auto wait = next_wait(up_->retry, end, retries_, random, std::chrono::system_clock::now());
    if (!wait || *wait >= time_left()) {
        return false;
    }
    ++retries_;
    payer_->retried();
    timer_.expires_after(*wait);
    timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& stopped) {
        const auto self = weak.lock();
        if (self && !stopped && !self->over_) {
            self->wait_for_turn();
        }
    });
    return true;
}

void exchange::give_up(const failure& why) {
    over_ = true;
    stop_waiting();
    const bool late = why.kind == error_class::timeout;
    on_.on_refusal({late ? 504U : 502U, late ? "provider_timeout" : "provider_unreachable",
                    fmt::format("the provider of {} did not answer, tried {} times: {}", model_, retries_ + 1,
                                key_filter(route_.key).clean(why.message))});
}

void exchange::leave_turn(concurrency::how how, std::optional<milliseconds> wait) {
    if (const auto began = std::exchange(began_, std::nullopt)) {
        up_->turns->ended(model_, how, *began, wait);
    }
}

void exchange::spend(usage_watch& watch) {
    if (only_counts(what_.which)) {
        return; // no turn, and the context that it is about is not sent to a model
    }
    const auto cost = watch.finish(what_.body.size());
    payer_->spend(cost.count, cost.estimated, up_->prices.find(model_));
}

/// The account first: who has seen the answer's end finds it there.
void exchange::settle(bool whole) {
    over_ = true;
    stop_waiting();
    timer_.cancel();
    leave_turn(whole ? concurrency::how::well : concurrency::how::other);
    if (is_good(head_->status)) {
        spend(*watch_);
    }
    pass_on(filter_->rest());
    if (up_->stored == store_mode::record) {
        if (const auto saved = up_->store.save(key_, {model_, *head_, std::move(recorded_), whole}); !saved) {
            whole = false; // who asked for a recording must not believe to have one
        }
    }
    on_.on_end(whole);
}

void exchange::pause() {
    if (transfer_) {
        transfer_->pause();
    }
}

void exchange::resume() {
    if (transfer_) {
        transfer_->resume();
    }
}

void exchange::cancel() {
    if (over_) {
        return;
    }
    const bool sent = began_.has_value() && !held_; // a refusal costs nothing
    held_.reset();
    on_ = {[](auto) {}, [](auto) {}, [](auto) {}, [](auto) {}};
    transfer_.reset();
    if (turn_) {
        up_->turns->forget(model_, *std::exchange(turn_, std::nullopt));
    }
    if (head_) {
        settle(false);
        return;
    }
    over_ = true;
    stop_waiting();
    timer_.cancel();
    leave_turn(concurrency::how::other);
    if (sent) {
        // The provider may work on it, and have it paid, to the end.
        usage_watch nothing_seen(what_.which, true);
        spend(nothing_seen);
    }
}

} // namespace chalk::gateway
