/// One call on its way to a provider and back: waits for its turn, sends, tries again until a stream has begun, passes
/// the answer on as it comes, and puts it on the run's account.
///
/// Owner: the connection that it came by. Belongs to the io thread.
#pragma once

#include "protocol/gateway/account.hpp"
#include "protocol/gateway/exchange_store.hpp"
#include "protocol/gateway/key_filter.hpp"
#include "protocol/gateway/retry.hpp"
#include "protocol/gateway/turnstile.hpp"
#include "protocol/gateway/usage_watch.hpp"

#include <boost/asio/steady_timer.hpp>

#include <random>

namespace chalk::gateway {

enum class store_mode { none, record, replay };

/// What all exchanges of a gateway use.
struct upstream {
    upstream(boost::asio::io_context& on, const concurrency_settings& limits)
        : io(on), turns(std::make_shared<turnstile>(on, limits)) {}

    boost::asio::io_context& io;
    std::shared_ptr<turnstile> turns;
    std::unique_ptr<curl::http_client> client; ///< null when replaying
    provider_settings providers;
    price_table prices;
    retry_settings retry;
    store_mode stored = store_mode::none;
    exchange_store store;
    milliseconds deadline{0}; ///< of one call, retries and waits included
    milliseconds idle{0};     ///< of an answer that has begun, or not
    std::minstd_rand random{std::random_device{}()};
};

/// Called on the io thread, never from within exchange::begin.
struct exchange_handlers {
    std::function<void(curl::http_head)> on_head;
    std::function<void(std::string_view)> on_data;
    /// Last. False: the answer broke where it is.
    std::function<void(bool whole)> on_end;
    /// Instead of on_head and what follows: no provider answered.
    std::function<void(refusal)> on_refusal;
};

class exchange : public std::enable_shared_from_this<exchange> {
  public:
    /// Refused before anything is sent: the model, the budget, the API.
    [[nodiscard]] static answer<std::shared_ptr<exchange>> begin(std::shared_ptr<upstream> up,
                                                                 std::shared_ptr<account> payer, call what,
                                                                 const curl::http_headers& from_client,
                                                                 exchange_handlers on);
    exchange(std::shared_ptr<upstream> up, std::shared_ptr<account> payer, call what, exchange_handlers on);
    exchange(const exchange&) = delete;
    exchange& operator=(const exchange&) = delete;
    ~exchange() { stop_waiting(); }

    /// The client does not keep up. Until resume() no more than what is under way is delivered.
    void pause();
    void resume();
    /// The client is gone. What it had cost by then is on the account.
    void cancel();

  private:
    using clock = std::chrono::steady_clock;
    struct held_error {
        curl::http_head head;
        std::string body;
    };

    void replay();
    void wait_for_turn();
    void send();
    void head_came(curl::http_head head);
    void release_error();
    void answer_came(const curl::http_head& head);
    void data_came(std::string_view bytes);
    void pass_on(std::string_view bytes);
    void transfer_ended(const result<void>& how);
    bool try_again(const attempt_end& end);
    void give_up(const failure& why);
    void leave_turn(concurrency::how how, std::optional<milliseconds> wait = std::nullopt);
    void spend(usage_watch& watch);
    void settle(bool whole);
    [[nodiscard]] milliseconds time_left() const;
    void stop_waiting();

    std::shared_ptr<upstream> up_;
    std::shared_ptr<account> payer_;
    call what_;
    exchange_handlers on_;
    std::string model_;
    exchange_key key_;
    route route_;
    std::shared_ptr<const std::string> body_;
    clock::time_point deadline_;
    boost::asio::steady_timer timer_;
    std::unique_ptr<curl::http_transfer> transfer_;
    std::optional<std::uint64_t> turn_;      ///< waits for it
    std::optional<clock::time_point> began_; ///< has it, since then
    std::optional<clock::time_point> waits_; ///< the run does, since then: for the turn and all attempts
    unsigned retries_ = 0;
    std::optional<held_error> held_;      ///< until its body has said how long to wait
    std::optional<curl::http_head> head_; ///< passed on
    std::optional<usage_watch> watch_;
    std::optional<key_filter> filter_; ///< with head_: of the body
    std::string recorded_;
    bool over_ = false;
};

} // namespace chalk::gateway
