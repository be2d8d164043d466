/// Counts what an answer cost by looking at it as it passes, whole or as a stream of server-sent events, in pieces of
/// any size. Tolerant: what it does not know it skips, what is too long it drops, and it never fails.
///
/// Chat completions: the chunk with "usage" (last, when include_usage is set). Responses: response.completed,
/// .incomplete and .failed. Anthropic: message_start, and the cumulative counts of message_delta. Gemini:
/// usageMetadata, cumulative in each chunk; an answer without a chunk that ends it has more to count than was said.
///
/// An answer that says nothing of usage (a stream that broke, a server that does not count) still cost something: it is
/// estimated, and said to be. Otherwise a client that hangs up early would get its tokens for nothing.
#pragma once

#include "protocol/gateway/call.hpp"
#include "protocol/gateway/prices.hpp"

#include <string>
#include <string_view>

namespace chalk::gateway {

class usage_watch {
  public:
    /// `is_stream`: the answer is text/event-stream.
    usage_watch(api which, bool is_stream) : which_(which), is_stream_(is_stream) {}

    void see(std::string_view bytes);

    struct verdict {
        counted_tokens count;
        bool estimated = false;
    };
    /// After the last byte, however it came. `request_size` in bytes, for an estimate.
    [[nodiscard]] verdict finish(std::size_t request_size);

  private:
    void line(std::string_view text);
    void document(std::string_view text);
    void event(const json& what);

    api which_;
    bool is_stream_;
    std::string pending_; ///< a line, or the whole answer
    bool dropping_ = false;
    bool counted_ = false;
    std::uint64_t events_ = 0;
    std::uint64_t bytes_ = 0;
    counted_tokens count_;
};

} // namespace chalk::gateway
