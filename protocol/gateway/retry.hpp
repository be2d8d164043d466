/// When a provider's answer is asked for again, and how long after: the rule of the providers' own client libraries
/// (openai-python and anthropic-sdk-python, _base_client.py). Pure.
///
/// 408, 409, 429 and 5xx are tried again, and so is a request that got no answer; 400, 401, 403, 404, 413 and 422
/// never. The header x-should-retry wins over the status. The wait is what retry-after-ms says, or retry-after (seconds
/// or a date), or the body where Google's servers say it, or else 0.5 s, doubled each time up to 8 s, less up to a
/// quarter. Nothing is tried again once a stream has begun; that is the caller's to keep.
#pragma once

#include "protocol/core/units.hpp"
#include "protocol/net/curl_client.hpp"

#include <optional>
#include <string_view>

namespace chalk::gateway {

struct retry_settings {
    unsigned retries = 6; ///< after the first attempt
    milliseconds first_wait{500};
    milliseconds longest_wait{8'000};
    /// A server that asks for a longer wait gets none: its answer is passed on.
    milliseconds longest_asked{300'000};
};

/// How an attempt ended before its stream began.
struct attempt_end {
    std::optional<unsigned> status; ///< absent: no answer came
    curl::http_headers headers;
};

/// How long to wait before the next attempt; nullopt: there is none. `retries` were made before; `random` is from [0,
/// 1).
[[nodiscard]] std::optional<milliseconds> next_wait(const retry_settings& settings, const attempt_end& end,
                                                    unsigned retries, double random, wall_time now);

/// What retry-after-ms or retry-after asks for, if they do; never negative.
[[nodiscard]] std::optional<milliseconds> asked_wait(const curl::http_headers& headers, wall_time now);

/// An error of Google's says in its body what others say in retry-after. True: it is worth waiting for.
[[nodiscard]] bool may_ask_in_body(unsigned status, const curl::http_headers& headers);

/// What a google.rpc.RetryInfo among `error.details` asks for ({"retryDelay": "3.5s"}, google/rpc/error_details.proto
/// and the JSON form of google.protobuf.Duration); never negative. nullopt: nothing, or `body` is none that is known.
[[nodiscard]] std::optional<milliseconds> asked_wait_in_body(std::string_view body);

} // namespace chalk::gateway
