/// How a run ends: exactly one of these, for every run that was started.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

namespace chalk {

struct failure;

/// The part of the system that failed. An infrastructure error is never a score of 0.
enum class error_class { config, image, sandbox, harness, task, model, timeout, node_lost, budget };

enum class outcome_status { passed, failed, error, cancelled };

/// Their names, in their order.
inline constexpr std::array<std::string_view, 9> error_class_names = {
    "config", "image", "sandbox", "harness", "task", "model", "timeout", "node_lost", "budget"};
inline constexpr std::array<std::string_view, 4> outcome_status_names = {"passed", "failed", "error", "cancelled"};

[[nodiscard]] std::string_view to_string(error_class kind) noexcept;
[[nodiscard]] std::string_view to_string(outcome_status status) noexcept;
[[nodiscard]] std::optional<error_class> parse_error_class(std::string_view text) noexcept;
[[nodiscard]] std::optional<outcome_status> parse_outcome_status(std::string_view text) noexcept;

/// `kind` and `message` are set for `error`; `message` alone for `cancelled`.
struct outcome {
    outcome_status status = outcome_status::cancelled;
    std::optional<error_class> kind;
    std::string message;

    [[nodiscard]] static outcome passed() { return {outcome_status::passed, std::nullopt, {}}; }
    [[nodiscard]] static outcome failed() { return {outcome_status::failed, std::nullopt, {}}; }
    [[nodiscard]] static outcome error(error_class kind, std::string message) {
        return {outcome_status::error, kind, std::move(message)};
    }
    [[nodiscard]] static outcome error(const failure& why);
    [[nodiscard]] static outcome cancelled(std::string message) {
        return {outcome_status::cancelled, std::nullopt, std::move(message)};
    }
    friend bool operator==(const outcome&, const outcome&) = default;
};

} // namespace chalk
