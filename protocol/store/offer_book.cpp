#include "protocol/store/offer_book.hpp"

#include <algorithm>

namespace chalk::store {

bool is_same_result(const offer& a, const offer& b) {
    return a.part == b.part && a.attempt == b.attempt && a.token == b.token && a.tree == b.tree && a.run == b.run;
}

void offer_book::add(offer made) {
    if (std::any_of(offers_.begin(), offers_.end(),
                    [&](const auto& one) { return is_same_result(one.second, made); })) {
        return;
    }
    made.number = offer_number{++last_};
    waiting_.push_back(made.number);
    offers_.emplace(made.number, std::move(made));
}

void offer_book::drop(const run_id& run, attempt_number attempt, result_token token) {
    std::erase_if(offers_, [&](const auto& one) {
        return one.second.run == run && one.second.attempt == attempt && one.second.token == token;
    });
}

void offer_book::connected() {
    open_.clear(); // their answers went with the old connection
    later_.clear();
    waiting_.clear();
    for (const auto& [number, made] : offers_) {
        waiting_.push_back(number);
    }
}

std::optional<offer> offer_book::next() {
    while (!waiting_.empty() && open_.size() < max_offers_open) {
        const auto found = offers_.find(waiting_.front());
        waiting_.pop_front();
        if (found != offers_.end()) {
            open_.insert(found->first);
            return found->second;
        }
    }
    return std::nullopt;
}

std::optional<offer> offer_book::answered(offer_number number) {
    const auto found = offers_.find(number);
    return open_.erase(number) != 0 && found != offers_.end() ? std::optional(found->second) : std::nullopt;
}

std::optional<offer> offer_book::landed(const store::landed& answer) {
    auto made = answered(answer.number);
    return made && made->tree == answer.tree ? made : std::nullopt;
}

std::optional<offer> offer_book::refused(offer_number number, bulk_fault code, time_point again) {
    auto made = answered(number);
    if (made && code == bulk_fault::no_room) {
        later_[number] = again;
    }
    return made;
}

void offer_book::wake(time_point now) {
    std::erase_if(later_, [&](const auto& one) {
        if (one.second > now) {
            return false;
        }
        waiting_.push_back(one.first);
        return true;
    });
}

} // namespace chalk::store
