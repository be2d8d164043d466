#include "actors/run/event_relay.hpp"

#include "protocol/host_channel/messages.hpp"

#include <mutex>
#include <utility>

namespace chalk::actors {

/// Lives as long as the channel's handlers may run. The channel itself hangs on the relay, not on this: or the two
/// would keep each other alive.
struct event_relay::shared {
    explicit shared(run_actor to) : target(std::move(to)) {}

    run_actor target;
    std::atomic<int> under_way = 0;
    std::atomic<bool> paused = false;
    std::atomic<bool> ended = false;
    std::mutex mutex;
    std::shared_ptr<host_channel::channel> channel; ///< guarded by mutex

    [[nodiscard]] std::shared_ptr<host_channel::channel> line() {
        const std::lock_guard lock(mutex);
        return channel;
    }
    void end(std::optional<failure> why) {
        if (!ended.exchange(true)) {
            caf::anon_send(target, host_channel_ended{std::move(why)});
        }
    }
    void take(std::string_view text);
};

void event_relay::shared::take(std::string_view text) {
    if (ended) {
        return;
    }
    auto message = host_channel::parse_harness_message(text);
    if (!message) {
        end(harness_failure("the harness broke the host channel's protocol: " + message.error().message));
        if (const auto c = line()) {
            c->close();
        }
        return;
    }
    if (auto* e = std::get_if<event>(&*message)) {
        if (++under_way >= credits && !paused.exchange(true)) {
            if (const auto c = line()) {
                c->pause_reading();
            }
        }
        caf::anon_send(target, events_recorded{{std::make_shared<const event>(std::move(*e))}});
    } else if (std::holds_alternative<host_channel::prepared>(*message)) {
        caf::anon_send(target, run_prepared{});
    } else {
        end(harness_failure("the harness described its tasks although it was asked to run one"));
    }
}

result<std::unique_ptr<event_relay>> event_relay::open(boost::asio::io_context& io, unique_fd socket,
                                                       std::string start_line, const run_actor& target) {
    auto state = std::make_shared<shared>(target);
    host_channel::channel_handlers handlers;
    handlers.on_line = [state](std::string_view line) { state->take(line); };
    handlers.on_end = [state](std::optional<failure> why) { state->end(std::move(why)); };
    auto opened = host_channel::channel::open(io, std::move(socket), std::move(handlers));
    if (!opened) {
        return opened.error();
    }
    {
        const std::lock_guard lock(state->mutex);
        state->channel = *opened;
    }
    (*opened)->send(std::move(start_line));
    return std::unique_ptr<event_relay>(new event_relay(std::move(state)));
}

event_relay::~event_relay() {
    state_->ended = true;
    std::shared_ptr<host_channel::channel> last;
    {
        const std::lock_guard lock(state_->mutex);
        last = std::move(state_->channel);
    }
    if (last) {
        last->close();
    }
}

void event_relay::send(std::string line) {
    if (const auto c = state_->line()) {
        c->send(std::move(line));
    }
}

void event_relay::event_done() {
    if (--state_->under_way == credits / 2 && state_->paused.exchange(false)) {
        if (const auto c = state_->line()) {
            c->resume_reading();
        }
    }
}

} // namespace chalk::actors
