/// Which variables the student must not see: chalk's own keys and what plugins list, and only those. A task may count
/// on all the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace chalk::confinement {

/// The keys that chalk itself looks up for models and services, by name.
[[nodiscard]] const std::vector<std::string_view>& own_secrets();

/// `environment` ("NAME=value") without own_secrets() and `listed` names; order kept. An entry without "=" is kept.
[[nodiscard]] std::vector<std::string> without_secrets(std::vector<std::string> environment,
                                                       const std::vector<std::string>& listed);

} // namespace chalk::confinement
