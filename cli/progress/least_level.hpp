/// Which log lines a terminal shows, by LOGURU_LEVEL: the variable that environments in Python know already, which is
/// handed on to them. What is recorded, sent or printed as JSON has every line whatever it says.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/event/event.hpp"

#include <string_view>

namespace chalk::cli {

/// TRACE, DEBUG, INFO, SUCCESS, WARNING, ERROR or CRITICAL, as one of chalk's own levels; "" is log_level::debug, with
/// which every line is shown. error_class::config with the known ones: any other word.
[[nodiscard]] result<log_level> parse_least_level(std::string_view word);

/// LOGURU_LEVEL of this process's environment.
[[nodiscard]] result<log_level> least_level();

} // namespace chalk::cli
