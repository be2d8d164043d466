/// What goes to a backend and comes back, as text: docs/protocols/backend.md. The same over HTTP and websockets.
#pragma once

#include "protocol/backend/target.hpp"
#include "protocol/core/json_text.hpp"

#include <cstdint>
#include <string>
#include <string_view>

namespace chalk::backend {

/// Puts an Events message together from the events' lines.
class events_message {
  public:
    explicit events_message(const stream& of);
    void add(std::string_view line);
    [[nodiscard]] std::string finish() &&;

  private:
    std::string text_;
    bool first_ = true;
};

/// {"type":"Acknowledged","seq":N}. Anything else is named in the failure.
[[nodiscard]] result<std::uint64_t> parse_acknowledged(std::string_view text);

/// `asked` is the harness's request: an object with "request", "step", "turn", "messages" and "tools".
[[nodiscard]] std::string next_message_request(const stream& of, json asked);

/// {"type":"Waiting"}: the backend is there and has no message yet.
[[nodiscard]] bool is_waiting(std::string_view text);

} // namespace chalk::backend
