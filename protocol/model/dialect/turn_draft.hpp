/// What the readers of all dialects share: events as JSON, a provider's error, bounds on what a model says, and calls
/// whose arguments come in pieces.
#pragma once

#include "protocol/model/dialect/dialect.hpp"
#include "protocol/model/dialect/provider_error.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::model {

/// A call whose pieces are still coming. Of arguments beyond the bound only the size is kept.
struct draft_call {
    std::string id;
    std::string name;
    std::string arguments;
    std::size_t size = 0; ///< bytes of all arguments

    void add(std::string_view part);
};

/// The calls as they go into a turn: ids that are missing or stand twice are made up from `prefix`, arguments are read,
/// and what is wrong with them is said in call_defects.
void put_calls(turn& into, std::vector<draft_call> calls, const std::string& prefix);

/// The arguments as an object for a provider: those of a call with a defect go back as {"invalid_arguments": TEXT},
/// since providers refuse a conversation that holds any other thing.
[[nodiscard]] json sendable_arguments(const tool_call& call);

/// A name that a provider takes back, whatever the model made up: letters, digits, dashes and underscores, at most 64.
[[nodiscard]] std::string sendable_name(const std::string& name);

class draft_reader : public turn_reader {
  public:
    explicit draft_reader(std::string call_prefix) : call_prefix_(std::move(call_prefix)) {}

    bool on_event(sse_event event) final;
    turn_result finish(std::string_view broke) final;
    turn take_half() final;

  protected:
    /// One event that is an object and no error.
    virtual void read(json& event) = 0;
    /// Why the turn is not complete, or empty when it is.
    [[nodiscard]] virtual std::string missing() const = 0;
    /// What has come, complete or not. Called once.
    [[nodiscard]] virtual turn take() = 0;

    /// Adds text within the bound; beyond it the turn has failed.
    void say(std::string& into, std::string_view part);
    void complete() noexcept { done_ = true; }
    void fail(turn_failure::what kind, std::string message);
    void fail(const provider_error& error);

    std::string call_prefix_;

  private:
    bool done_ = false;
    std::optional<turn_failure> failed_;
};

} // namespace chalk::model
