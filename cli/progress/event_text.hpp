/// One event as lines for a person, as they go by: --no-ui. (`chalk show` is for reading at leisure.)
#pragma once

#include "protocol/event/event.hpp"

#include <string>
#include <vector>

namespace chalk::cli {

/// Without line breaks and without control characters: what a student prints cannot steer the terminal. Long texts are
/// cut, and the cut is said. Nothing for a log line below `least`.
[[nodiscard]] std::vector<std::string> event_text(const event& e, log_level least = log_level::debug);

/// `text` with every control character but tab replaced by U+FFFD.
[[nodiscard]] std::string printable(std::string_view text);

} // namespace chalk::cli
