/// A command's refusal: the message that it prints and the code that it exits with.
#pragma once

#include "cli/commands.hpp"
#include "protocol/core/result.hpp"

#include <string>
#include <string_view>

namespace chalk::cli {

struct refused {
    exit_code code = exit_code::usage;
    std::string message;
};

[[noreturn]] void throw_exception_from_error(const refused& why, const boost::source_location&);
template<class T>
using step_result = boost::system::result<T, refused>;

/// The user is to mend it.
[[nodiscard]] refused usage_refusal(const failure& why);

/// error_class::config is the user's to mend (usage); anything else exits with `otherwise`.
[[nodiscard]] refused refusal_of(const failure& why, exit_code otherwise);

/// Prints "<command>: <message>" to standard error and gives the code back.
exit_code refuse(std::string_view command, const refused& why);
exit_code refuse(std::string_view command, const failure& why, exit_code otherwise);

} // namespace chalk::cli
