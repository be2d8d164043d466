#include "protocol/store/bulk_peer.hpp"

#include "protocol/core/overloaded.hpp"
#include "protocol/store/bulk_connection.hpp"
#include "protocol/store/fetch_desk.hpp"
#include "protocol/store/offer_book.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::store {

namespace asio = boost::asio;

/// Everything but the constructor runs on the io thread.
class bulk_peer::core : public std::enable_shared_from_this<core> {
  public:
    core(asio::io_context& io, const blocking_executor& executor, std::shared_ptr<const tree_shelf> shelf,
         std::shared_ptr<chunk_cache> cache, bulk_callbacks callbacks, const bulk_settings& settings)
        : io_(io), timer_(io), works_(std::make_shared<work_lane>(io, executor, 1)),
          makes_(std::make_shared<work_lane>(io, executor, std::max<std::size_t>(settings.makers, 1))),
          shelf_(std::move(shelf)), cache_(std::move(cache)), callbacks_(std::move(callbacks)), settings_(settings) {}

    void open();
    void attach(unique_fd fd);
    void close();

    void fetch(const tree_digest& tree, const std::filesystem::path& target, durability kept, fetched done) {
        desk_->fetch(tree, target, kept, std::move(done)); // fails it after close()
    }
    void offer(store::offer made) {
        offers_.add(std::move(made));
        wake();
    }
    void dropped(const run_id& run, attempt_number attempt, result_token token) {
        offers_.drop(run, attempt, token);
        wake();
    }

    [[nodiscard]] asio::io_context& io() const noexcept { return io_; }
    [[nodiscard]] const bulk_meter& meter() const noexcept { return *meter_; }

  private:
    using clock = std::chrono::steady_clock;

    void take(bulk_message&& message, std::function<void()> go_on);
    void take_error(const bulk_error& error, offer_number number);
    void lose(const std::string& why);
    void watch();
    void look_at_deadlines();
    void wake() {
        if (connection_) {
            connection_->wake();
        }
    }

    asio::io_context& io_;
    asio::steady_timer timer_; ///< runs while there is a connection
    std::shared_ptr<work_lane> works_;
    std::shared_ptr<work_lane> makes_;
    std::shared_ptr<const tree_shelf> shelf_;
    std::shared_ptr<chunk_cache> cache_;
    bulk_callbacks callbacks_;
    bulk_settings settings_;
    std::shared_ptr<bulk_meter> meter_ = std::make_shared<bulk_meter>();
    offer_book offers_;
    std::shared_ptr<fetch_desk> desk_;
    std::shared_ptr<bulk_connection> connection_; ///< null: none
    bool closed_ = false;
};

void bulk_peer::core::open() {
    // The desk is this object's, and outlives it only for what is under way.
    const std::weak_ptr<core> weak = shared_from_this();
    fetch_desk_user user;
    user.send = [weak](const bulk_message& message) {
        if (const auto self = weak.lock(); self && self->connection_) {
            self->connection_->send(message);
        }
    };
    user.refuse = [weak](const std::string& why) {
        if (const auto self = weak.lock(); self && self->connection_) {
            self->connection_->refuse(why);
        }
    };
    user.on_offer = [weak](const store::offer& made) {
        const auto self = weak.lock();
        return self && !self->closed_ && self->callbacks_.on_offer ? self->callbacks_.on_offer(made) : std::nullopt;
    };
    user.on_stored = [weak](const store::offer& made, const std::filesystem::path& target) {
        if (const auto self = weak.lock(); self && !self->closed_ && self->callbacks_.on_stored) {
            self->callbacks_.on_stored(made, target);
        }
    };
    desk_ = std::make_shared<fetch_desk>(works_, makes_, cache_, settings_, std::move(user));
}

void bulk_peer::core::attach(unique_fd fd) {
    if (closed_) {
        return;
    }
    if (auto old = std::exchange(connection_, nullptr)) {
        old->close();
        desk_->disconnected();
    }
    const std::weak_ptr<core> weak = shared_from_this();
    bulk_user user;
    user.on_message = [weak](bulk_message&& message, std::function<void()> go_on) {
        if (const auto self = weak.lock()) {
            self->take(std::move(message), std::move(go_on));
        }
    };
    user.next_offer = [weak]() -> std::optional<bulk_message> {
        const auto self = weak.lock();
        auto next = self ? self->offers_.next() : std::nullopt;
        return next ? std::optional<bulk_message>(std::move(*next)) : std::nullopt;
    };
    user.on_end = [weak](const std::string& why) {
        if (const auto self = weak.lock()) {
            self->lose(why);
        }
    };
    connection_ = std::make_shared<bulk_connection>(io_, works_, shelf_, meter_, std::move(user));
    offers_.connected();
    desk_->connected();
    watch();
    const auto fresh = connection_;
    fresh->start(std::move(fd));
}

void bulk_peer::core::lose(const std::string& why) {
    connection_ = nullptr;
    timer_.cancel();
    desk_->disconnected();
    if (!closed_ && callbacks_.on_lost) {
        callbacks_.on_lost(why);
    }
}

void bulk_peer::core::close() {
    closed_ = true; // the callbacks stay: one of them may be what ends this
    timer_.cancel();
    if (auto old = std::exchange(connection_, nullptr)) {
        old->close();
    }
    desk_->close();
}

void bulk_peer::core::take(bulk_message&& message, std::function<void()> go_on) {
    if (const auto* made = std::get_if<store::offer>(&message); made != nullptr) {
        if (!desk_->offered(*made)) {
            const auto current = connection_;
            current->refuse(fmt::format("offer {} came while {} were not answered, or it was itself",
                                        static_cast<std::uint64_t>(made->number), max_offers_open));
        }
    } else if (const auto* there = std::get_if<store::landed>(&message); there != nullptr) {
        if (const auto own = offers_.landed(*there); own && !closed_ && callbacks_.on_landed) {
            callbacks_.on_landed(*own);
        }
    } else if (const auto* error = std::get_if<bulk_error>(&message);
               error != nullptr && std::holds_alternative<offer_number>(error->about)) {
        take_error(*error, std::get<offer_number>(error->about));
    } else {
        desk_->take(std::move(message), std::move(go_on));
        return;
    }
    go_on();
}

void bulk_peer::core::take_error(const bulk_error& error, offer_number number) {
    const auto own = offers_.refused(number, error.code, clock::now() + settings_.retry_pause);
    if (own && !closed_ && callbacks_.on_refused) {
        callbacks_.on_refused(*own, error);
    }
}

void bulk_peer::core::watch() {
    const auto often = std::clamp<milliseconds>(std::min(settings_.deadline, settings_.retry_pause) / 4,
                                                milliseconds{5}, milliseconds{1'000});
    timer_.expires_after(often);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& stopped) {
        if (!stopped && self->connection_) {
            self->look_at_deadlines();
        }
    });
}

void bulk_peer::core::look_at_deadlines() {
    const auto now = clock::now();
    const auto current = connection_;
    const auto since = desk_->waiting_since();
    if (since && now - *since > settings_.deadline) {
        current->end(fmt::format("nothing of what was asked for came over the bulk connection for {} ms",
                                 settings_.deadline.count()));
        return;
    }
    if (current->writing_for(now) > settings_.deadline) {
        current->end(
            fmt::format("the peer did not read from the bulk connection for {} ms", settings_.deadline.count()));
        return;
    }
    offers_.wake(now);
    watch();
    wake();
}

bulk_peer::bulk_peer(asio::io_context& io, blocking_executor executor, std::shared_ptr<const tree_shelf> shelf,
                     std::shared_ptr<chunk_cache> cache, bulk_callbacks callbacks, const bulk_settings& settings)
    : core_(std::make_shared<core>(io, executor, std::move(shelf), std::move(cache), std::move(callbacks), settings)) {
    core_->open();
}

bulk_peer::~bulk_peer() {
    asio::dispatch(core_->io(), [last = core_] { last->close(); });
}

void bulk_peer::attach(unique_fd fd) {
    asio::post(core_->io(), [core = core_, fd = std::move(fd)]() mutable { core->attach(std::move(fd)); });
}

void bulk_peer::fetch(const tree_digest& tree, const std::filesystem::path& target, durability kept, fetched done) {
    asio::post(core_->io(), [core = core_, tree, target, kept, done = std::move(done)]() mutable {
        core->fetch(tree, target, kept, std::move(done));
    });
}

void bulk_peer::offer(store::offer made) {
    asio::post(core_->io(), [core = core_, made = std::move(made)]() mutable { core->offer(std::move(made)); });
}

void bulk_peer::dropped(const run_id& run, attempt_number attempt, result_token token) {
    asio::post(core_->io(), [core = core_, run, attempt, token] { core->dropped(run, attempt, token); });
}

const bulk_meter& bulk_peer::meter() const noexcept {
    return core_->meter();
}

} // namespace chalk::store
