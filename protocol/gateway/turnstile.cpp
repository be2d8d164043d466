#include "protocol/gateway/turnstile.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace chalk::gateway {

using clock = std::chrono::steady_clock;

turnstile::gate& turnstile::at(const std::string& model) {
    return gates_.try_emplace(model, io_, settings_).first->second;
}

const concurrency* turnstile::find(const std::string& model) const {
    const auto found = gates_.find(model);
    return found == gates_.end() ? nullptr : &found->second.queue;
}

std::uint64_t turnstile::ask(const std::string& model, std::function<void()> go) {
    const auto who = ++last_;
    auto& g = at(model);
    g.waiting.emplace(who, std::move(go));
    g.queue.ask(who);
    later(model);
    return who;
}

bool turnstile::forget(const std::string& model, std::uint64_t who) {
    auto& g = at(model);
    g.waiting.erase(who);
    return g.queue.forget(who);
}

void turnstile::ended(const std::string& model, concurrency::how how, concurrency::time_point began,
                      std::optional<milliseconds> wait) {
    at(model).queue.ended(how, began, clock::now(), wait);
    later(model);
}

/// Not from within the caller, whose own state would change under it.
void turnstile::later(const std::string& model) {
    boost::asio::post(io_, [weak = weak_from_this(), model] {
        if (const auto self = weak.lock()) {
            self->let_in(model);
        }
    });
}

void turnstile::let_in(const std::string& model) {
    auto& g = at(model);
    for (const auto who : g.queue.admit(clock::now())) {
        if (auto found = g.waiting.extract(who)) {
            found.mapped()();
        }
    }
    if (const auto wakes = g.queue.wakes_at()) {
        g.timer.expires_at(*wakes);
        g.timer.async_wait([weak = weak_from_this(), model](const boost::system::error_code& stopped) {
            const auto self = weak.lock();
            if (self && !stopped) {
                self->let_in(model);
            }
        });
    }
}

} // namespace chalk::gateway
