/// Server-sent events out of a byte stream, however it is cut (WHATWG HTML, "Server-sent events", section 9.2.6). Pure;
/// its owner feeds it what it read. Fields other than `event` and `data` are of no use to a model client and are left
/// out.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace chalk::model {

struct sse_event {
    std::string name; ///< of its `event:` line, or empty
    std::string data; ///< its `data:` lines, joined by line breaks
};

class sse_parser {
  public:
    /// `cap`: bytes that the lines of one event may have.
    explicit sse_parser(std::size_t cap) : cap_(cap) {}

    /// Calls `on_event` for each event that `data` completes, until it returns false. False when it did, or when an
    /// event is too long (`too_long()`); nothing more may be fed then. An event without data is none.
    bool feed(std::string_view data, const std::function<bool(sse_event&&)>& on_event);

    /// At the end of the stream: the event that no blank line closed. The specification drops it; some providers end
    /// their last event so, and it may be the one that says that the turn is complete.
    bool finish(const std::function<bool(sse_event&&)>& on_event);

    [[nodiscard]] bool too_long() const noexcept { return too_long_; }

  private:
    bool end_line(const std::function<bool(sse_event&&)>& on_event);

    std::size_t cap_;
    std::size_t used_ = 0; ///< bytes of the open event
    std::string line_;
    sse_event open_;
    bool has_data_ = false;
    bool after_cr_ = false; ///< the last byte was CR: a line feed now belongs to it
    bool first_line_ = true;
    bool too_long_ = false;
};

} // namespace chalk::model
