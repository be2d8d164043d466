/// The result of everything that can fail: a value, or a failure that says in which area, why, and how to mend it.
/// Nothing in chalk throws across a function of another folder; libraries' exceptions are caught where they enter.
#pragma once

#include "protocol/core/outcome.hpp"

#include <boost/system/result.hpp>

#include <stdexcept>
#include <string>
#include <utility>

namespace chalk {

/// Why something did not work. `message` is for a person: it names the run or file, the cause, and the remedy where
/// the user has one. `kind` decides what becomes of the run (see outcome.hpp).
struct failure {
    error_class kind = error_class::harness;
    std::string message;

    friend bool operator==(const failure&, const failure&) = default;
};

template<class T>
using result = boost::system::result<T, failure>;

/// Called by boost::system::result when value() is asked of a failure: a programming error, never control flow.
[[noreturn]] inline void throw_exception_from_error(const failure& why, const boost::source_location&) {
    throw std::logic_error("value() of a failure: " + why.message);
}

[[nodiscard]] inline failure config_failure(std::string message) {
    return {error_class::config, std::move(message)};
}
[[nodiscard]] inline failure sandbox_failure(std::string message) {
    return {error_class::sandbox, std::move(message)};
}
[[nodiscard]] inline failure harness_failure(std::string message) {
    return {error_class::harness, std::move(message)};
}
[[nodiscard]] inline failure task_failure(std::string message) {
    return {error_class::task, std::move(message)};
}
[[nodiscard]] inline failure model_failure(std::string message) {
    return {error_class::model, std::move(message)};
}
[[nodiscard]] inline failure timeout_failure(std::string message) {
    return {error_class::timeout, std::move(message)};
}

} // namespace chalk
