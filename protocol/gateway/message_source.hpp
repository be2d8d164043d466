/// Who answers `POST /chalk/next-message` on a run's socket: where an external agent's messages come from. Implemented
/// by protocol/backend/message_desk.
///
/// Owner: the run's node. Belongs to the io thread.
#pragma once

#include "protocol/gateway/call.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace chalk::gateway {

inline constexpr std::string_view next_message_path = "/chalk/next-message";

class message_source {
  public:
    message_source() = default;
    message_source(const message_source&) = delete;
    message_source& operator=(const message_source&) = delete;
    virtual ~message_source() = default;

    /// `done` runs once, never from within this call, with the answer's body or why there is none. A request that is
    /// still open is then over: its `done` gets a refusal. Returns the request's number.
    [[nodiscard]] virtual std::uint64_t ask(std::string body, std::function<void(answer<std::string>)> done) = 0;
    /// Who asked is gone: `done` does not run any more.
    virtual void drop(std::uint64_t number) = 0;
};

} // namespace chalk::gateway
