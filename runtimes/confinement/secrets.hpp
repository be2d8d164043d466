/// Which variables the student must not see: chalk's own keys and what plugins list, and only those. A task may count
/// on all the others.
#pragma once

#include <string>
#include <vector>

namespace chalk::confinement {

/// `environment` ("NAME=value") without own_key_names() (protocol/core/own_keys.hpp) and `listed` names; order kept. An
/// entry without "=" is kept.
[[nodiscard]] std::vector<std::string> without_secrets(std::vector<std::string> environment,
                                                       const std::vector<std::string>& listed);

} // namespace chalk::confinement
