#include "protocol/gateway/retry.hpp"

#include "protocol/core/json_text.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <string>

namespace chalk::gateway {

namespace {

/// Far more than any wait that is honoured; keeps the arithmetic within range.
constexpr double longest_seconds = 1e8;

std::optional<double> number(std::string_view text) {
    const std::string copy(text);
    char* end = nullptr;
    const double value = std::strtod(copy.c_str(), &end);
    if (copy.empty() || *end != '\0' || !std::isfinite(value)) {
        return std::nullopt;
    }
    return std::clamp(value, 0.0, longest_seconds * 1000);
}

/// RFC 9110, section 5.6.7: the preferred form alone, which is all that servers send.
std::optional<wall_time> date(std::string_view text) {
    const std::string copy(text);
    std::tm parts{};
    const char* end = ::strptime(copy.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    if (end == nullptr || *end != '\0') {
        return std::nullopt;
    }
    return std::chrono::system_clock::from_time_t(::timegm(&parts));
}

bool is_transient(unsigned status) {
    return status == 408 || status == 409 || status == 429 || status >= 500;
}

const json* value_of(const json& object, const char* key) {
    const auto found = object.is_object() ? object.find(key) : object.end();
    return found == object.end() ? nullptr : &*found;
}

bool wants_retry(const attempt_end& end) {
    const auto word = curl::find_header(end.headers, "x-should-retry");
    if (word == "true" || word == "false") {
        return word == "true";
    }
    return !end.status || is_transient(*end.status);
}

} // namespace

std::optional<milliseconds> asked_wait(const curl::http_headers& headers, wall_time now) {
    if (const auto ms = number(curl::find_header(headers, "retry-after-ms"))) {
        return milliseconds(std::llround(std::ceil(*ms)));
    }
    const auto text = curl::find_header(headers, "retry-after");
    if (const auto s = number(text)) {
        return milliseconds(std::llround(std::ceil(std::min(*s, longest_seconds) * 1000)));
    }
    if (const auto at = date(text)) {
        return std::max(milliseconds(0), std::chrono::ceil<milliseconds>(*at - now));
    }
    return std::nullopt;
}

bool may_ask_in_body(unsigned status, const curl::http_headers& headers) {
    constexpr unsigned resource_exhausted = 429;
    constexpr unsigned unavailable = 503;
    return (status == resource_exhausted || status == unavailable) &&
           curl::find_header(headers, "retry-after-ms").empty() && curl::find_header(headers, "retry-after").empty();
}

std::optional<milliseconds> asked_wait_in_body(std::string_view body) {
    const auto parsed = parse_json(body);
    if (!parsed) {
        return std::nullopt;
    }
    // A stream that is no stream of events is a list, and so is its error.
    const auto& whole = parsed->is_array() && parsed->size() == 1 ? parsed->front() : *parsed;
    const json* error = value_of(whole, "error");
    const json* details = error == nullptr ? nullptr : value_of(*error, "details");
    if (details == nullptr || !details->is_array()) {
        return std::nullopt;
    }
    for (const auto& one : *details) {
        const json* type = value_of(one, "@type");
        const json* delay = value_of(one, "retryDelay");
        if (type == nullptr || *type != "type.googleapis.com/google.rpc.RetryInfo" || delay == nullptr ||
            !delay->is_string()) {
            continue;
        }
        std::string_view text = delay->get_ref<const std::string&>();
        if (!text.ends_with('s')) {
            continue;
        }
        text.remove_suffix(1);
        if (const auto s = number(text)) {
            return milliseconds(std::llround(std::ceil(std::min(*s, longest_seconds) * 1000)));
        }
    }
    return std::nullopt;
}

std::optional<milliseconds> next_wait(const retry_settings& settings, const attempt_end& end, unsigned retries,
                                      double random, wall_time now) {
    if (retries >= settings.retries || !wants_retry(end)) {
        return std::nullopt;
    }
    if (const auto asked = asked_wait(end.headers, now)) {
        return *asked <= settings.longest_asked ? asked : std::nullopt;
    }
    constexpr unsigned most_doublings = 20;
    constexpr double jitter = 0.25;
    const double doubled =
        static_cast<double>(settings.first_wait.count()) * std::pow(2.0, std::min(retries, most_doublings));
    const double wait = std::min(doubled, static_cast<double>(settings.longest_wait.count()));
    return milliseconds(std::llround(wait * (1.0 - jitter * random)));
}

} // namespace chalk::gateway
