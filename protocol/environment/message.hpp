/// What an environment host may send (docs/protocols/environment.md): answers, and the notifications `log` and
/// `progress`. Pure.
#pragma once

#include "protocol/environment/client.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace chalk::environment {

/// The answer to call `id`.
struct answer {
    std::uint64_t id = 0;
    call_result value;
};

struct log_note {
    log_line line;
    std::optional<std::uint64_t> call; ///< that it is about
};

struct progress_note {
    std::uint64_t call = 0;
    tool_progress progress;
};

/// What breaks the protocol, and how.
struct violation {
    std::string reason;
};

using message = std::variant<answer, log_note, progress_note, violation>;

[[nodiscard]] message parse_message(std::string_view line);

/// Without a line break.
[[nodiscard]] std::string request_line(std::uint64_t id, std::string_view method, const json& params);
[[nodiscard]] std::string cancel_line(std::uint64_t id);

} // namespace chalk::environment
