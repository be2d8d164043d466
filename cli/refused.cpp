#include "cli/refused.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <stdexcept>

namespace chalk::cli {

void throw_exception_from_error(const refused& why, const boost::source_location&) {
    throw std::logic_error("value() of a refusal: " + why.message);
}

refused usage_refusal(const failure& why) {
    return {exit_code::usage, why.message};
}

refused refusal_of(const failure& why, exit_code otherwise) {
    return {why.kind == error_class::config ? exit_code::usage : otherwise, why.message};
}

exit_code refuse(std::string_view command, const refused& why) {
    fmt::print(stderr, "{}: {}\n", command, why.message);
    return why.code;
}

exit_code refuse(std::string_view command, const failure& why, exit_code otherwise) {
    return refuse(command, refusal_of(why, otherwise));
}

} // namespace chalk::cli
