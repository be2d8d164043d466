#include "actors/sweep/spending_book.hpp"

namespace chalk::actors {

bool spending_book::fits(amount wanted, amount promised) const noexcept {
    return (!limits_.tokens || spent_.tokens + promised.tokens + wanted.tokens <= *limits_.tokens) &&
           (!limits_.usd || spent_.usd + promised.usd + wanted.usd <= *limits_.usd);
}

spending_book::answer spending_book::reserve(key who, amount wanted) {
    const bool exhausted =
        (limits_.tokens && spent_.tokens >= *limits_.tokens) || (limits_.usd && spent_.usd >= *limits_.usd);
    if (exhausted || !fits(wanted, {})) {
        return answer::never;
    }
    if (!fits(wanted, promised_)) {
        return answer::wait;
    }
    if (by_key_.emplace(who, wanted).second) {
        promised_.tokens += wanted.tokens;
        promised_.usd += wanted.usd;
    }
    return answer::granted;
}

void spending_book::settle(key who, amount spent) {
    spent_.tokens += spent.tokens;
    spent_.usd += spent.usd;
    if (const auto held = by_key_.extract(who)) {
        promised_.tokens -= held.mapped().tokens;
        promised_.usd = by_key_.empty() ? 0 : promised_.usd - held.mapped().usd; // no rounding is carried along
    }
}

} // namespace chalk::actors
