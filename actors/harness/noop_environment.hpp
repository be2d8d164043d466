/// "builtin:noop": an environment without a process, for benchmarks and tests of everything around it. One task,
/// "noop", of `task_args.steps` steps (1 where absent) that all score 1; one tool, `echo {text}`.
#pragma once

#include "protocol/environment/client.hpp"

#include <string_view>

namespace chalk::actors {

/// Pure, but for the steps that load_task's arguments set. Answers at once: it needs no actor.
class noop_environment {
  public:
    [[nodiscard]] environment::call_result answer(std::string_view method, const json& params);

  private:
    std::size_t steps_ = 1;
};

} // namespace chalk::actors
