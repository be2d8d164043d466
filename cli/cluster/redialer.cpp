#include "cli/cluster/redialer.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace chalk::cli {

redialer::redialer(boost::asio::io_context& io, std::shared_ptr<cluster::dialer> by, cluster::dial_target target,
                   events on, redial_waits waits)
    : io_(io), by_(std::move(by)), target_(std::move(target)), on_(std::move(on)), waits_(waits), timer_(io),
      next_wait_(waits.first), chance_(std::random_device{}()) {}

void redialer::dial() {
    boost::asio::post(io_, [self = shared_from_this()] {
        if (self->at_ == standing::idle) {
            self->try_now();
        }
    });
}

void redialer::lost() {
    boost::asio::post(io_, [self = shared_from_this()] {
        if (self->at_ == standing::connected) {
            // One that is let go again at once (its name is taken, say) is no reason to hurry.
            if (clock::now() - self->connected_at_ > self->waits_.longest) {
                self->next_wait_ = self->waits_.first;
            }
            self->wait();
        }
    });
}

void redialer::stop() {
    boost::asio::post(io_, [self = shared_from_this()] {
        self->at_ = standing::stopped;
        self->timer_.cancel();
        self->on_ = {};
    });
}

void redialer::try_now() {
    at_ = standing::dialling;
    by_->dial(target_, [self = shared_from_this()](cluster::dialed how) { self->on_dialed(std::move(how)); });
}

void redialer::on_dialed(cluster::dialed how) {
    if (at_ != standing::dialling) {
        return;
    }
    if (how) {
        at_ = standing::connected;
        connected_at_ = clock::now();
        last_cause_.clear();
        on_.connected(std::move(*how));
        return;
    }
    if (std::exchange(last_cause_, how.error().message) != last_cause_) {
        on_.failed(last_cause_);
    }
    wait();
}

void redialer::wait() {
    at_ = standing::waiting;
    const auto longest = next_wait_.count();
    const milliseconds now(longest / 2 + static_cast<milliseconds::rep>(chance_()) % (longest / 2 + 1));
    next_wait_ = std::min(next_wait_ * 2, waits_.longest);
    timer_.expires_after(now);
    timer_.async_wait([self = shared_from_this()](const boost::system::error_code& cut) {
        if (!cut && self->at_ == standing::waiting) {
            self->try_now();
        }
    });
}

} // namespace chalk::cli
