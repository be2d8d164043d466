/// Watches what the student takes where nothing holds it to its limits (confinement::watchdog).
#pragma once

#include "actors/harness/messages.hpp"
#include "runtimes/confinement/watchdog/watchdog.hpp"

#include <memory>

namespace chalk::actors {

/// Null: nothing is to be watched, or the student has no user of its own and cannot be told apart. The watch begins
/// now, ends with the object, and sends `to` watchdog_tripped.
[[nodiscard]] std::unique_ptr<confinement::watchdog> watch_student(const harness_options& options,
                                                                   const harness_core& to);

} // namespace chalk::actors
