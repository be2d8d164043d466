#include "protocol/mcp/exchange.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/mcp/versions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

namespace chalk::mcp {
namespace {

/// How long a client that lost its connection may take to come back for the rest.
constexpr seconds resume_deadline{30};
/// When a client should come back after a stream ended before its answer.
constexpr int retry_ms = 500;
/// Beyond it the oldest events of an exchange are forgotten; the newest is always kept.
constexpr std::size_t most_kept = 1U << 20U;

} // namespace

std::optional<event_id> parse_event_id(std::string_view text) {
    event_id id;
    const auto* const end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), end, id.exchange);
    if (first.ec != std::errc() || first.ptr == end || *first.ptr != '-') {
        return std::nullopt;
    }
    const auto second = std::from_chars(first.ptr + 1, end, id.sequence);
    return second.ec == std::errc() && second.ptr == end ? std::optional(id) : std::nullopt;
}

exchange::exchange(boost::asio::io_context& io, const std::shared_ptr<tool_host>& host,
                   const std::shared_ptr<session>& from, bool batch)
    : patience_(io), host_(host), from_(from), own_session_(from->stateless() ? from : nullptr),
      version_(from->version), batch_(batch) {}

call_route exchange::route() {
    call_route out;
    out.answer = [self = shared_from_this()](std::optional<json> response) { self->answered(std::move(response)); };
    out.notify = [weak = weak_from_this()](const json& said) {
        if (const auto self = weak.lock()) {
            self->notify(said);
        }
    };
    out.end_stream = [weak = weak_from_this()] {
        if (const auto self = weak.lock()) {
            self->end_stream();
        }
    };
    return out;
}

void exchange::start(std::weak_ptr<carrier> to, const std::vector<json>& messages) {
    const auto host = host_.lock();
    const auto from = from_.lock();
    carrier_ = std::move(to);
    open_ = 1; // this function itself, so that an early answer does not end the exchange
    for (const auto& message : messages) {
        if (!message.contains("method")) {
            continue; // a response: nothing was asked
        }
        const auto& method = message["method"].get_ref<const std::string&>();
        const auto params = message.value("params", json::object());
        if (!message.contains("id")) {
            host->notification(*from, method, params);
            continue;
        }
        ++open_;
        if (const auto number = host->request(from, message["id"], method, params, route()); number != 0) {
            calls_.push_back(number);
        }
    }
    answered(std::nullopt);
}

void exchange::answered(std::optional<json> response) {
    --open_;
    if (ended_) {
        return; // it was abandoned
    }
    if (streaming_) {
        if (response) {
            push(dump_json(*response));
        }
        if (open_ == 0) {
            finish_stream();
        }
        return;
    }
    if (response) {
        answers_.push_back(std::move(*response));
    }
    if (open_ > 0) {
        return;
    }
    ended_ = true;
    if (const auto to = carrier_.lock()) {
        if (answers_.empty()) {
            to->send_whole(std::nullopt); // notifications and responses, or all was cancelled
        } else {
            to->send_whole(batch_ ? std::move(answers_) : std::move(answers_.front()));
        }
    }
}

void exchange::notify(const json& message) {
    if (!ended_) {
        begin_stream();
        push(dump_json(message));
    }
}

void exchange::begin_stream() {
    if (std::exchange(streaming_, true)) {
        return;
    }
    const auto host = host_.lock();
    const auto from = from_.lock();
    number_ = host && from ? host->keep_for_resumption(*from, shared_from_this()) : 0;
    if (const auto to = carrier_.lock()) {
        to->begin_events();
    }
    if (number_ != 0 && knows_empty_events(version_)) {
        // No message, but an id: whoever loses this connection from now on can come back.
        push({});
    }
    for (auto& answer : answers_) {
        push(dump_json(answer)); // of a batch, those that came before
    }
    answers_.clear();
}

void exchange::push(std::string data) {
    std::string text;
    if (number_ != 0) {
        ++last_sequence_;
        text = fmt::format("id: {}-{}\n", number_, last_sequence_);
    }
    text += data.empty() ? fmt::format("retry: {}\ndata: \n\n", retry_ms)
                         : fmt::format("event: message\ndata: {}\n\n", data);
    const auto to = carrier_.lock();
    if (to) {
        to->send_event(text);
    }
    if (number_ == 0) {
        return;
    }
    kept_bytes_ += text.size();
    kept_.push_back({last_sequence_, std::move(text)});
    while (kept_bytes_ > most_kept && kept_.size() > 1) {
        kept_bytes_ -= kept_.front().text.size();
        kept_.pop_front();
    }
}

void exchange::finish_stream() {
    ended_ = true;
    if (const auto to = std::exchange(carrier_, {}).lock()) {
        to->end_events();
    }
    wait_for_client(); // the answer may have been lost on its way
}

void exchange::end_stream() {
    if (ended_ || !knows_empty_events(version_)) {
        return;
    }
    begin_stream();
    if (number_ == 0) {
        return;
    }
    if (const auto to = std::exchange(carrier_, {}).lock()) {
        to->end_events();
        wait_for_client();
    }
}

void exchange::carrier_lost() {
    carrier_.reset();
    if (ended_) {
        return;
    }
    if (streaming_ && number_ != 0) {
        wait_for_client();
    } else {
        abandon();
    }
}

void exchange::wait_for_client() {
    if (number_ == 0) {
        return;
    }
    patience_.expires_after(resume_deadline);
    patience_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
        if (!stopped) {
            self->abandon();
        }
    });
}

void exchange::resume(std::weak_ptr<carrier> to, std::uint64_t seen) {
    if (const auto before = carrier_.lock()) {
        before->end_events(); // it is dead, as its client came back
    }
    patience_.cancel();
    carrier_ = std::move(to);
    const auto now = carrier_.lock();
    if (!now) {
        carrier_lost();
        return;
    }
    now->begin_events();
    for (const auto& event : kept_) {
        if (event.sequence > seen) {
            now->send_event(event.text);
        }
    }
    if (ended_) {
        finish_stream();
    }
}

void exchange::abandon() {
    ended_ = true;
    patience_.cancel();
    if (const auto from = from_.lock(); from && number_ != 0) {
        tool_host::forget_exchange(*from, number_);
    }
    if (const auto to = std::exchange(carrier_, {}).lock()) {
        to->end_events();
    }
    const auto host = host_.lock();
    for (const auto number : std::exchange(calls_, {})) {
        if (host) {
            host->abandon(number);
        }
    }
}

} // namespace chalk::mcp
