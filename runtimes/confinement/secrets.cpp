#include "runtimes/confinement/secrets.hpp"

#include "protocol/core/own_keys.hpp"

#include <algorithm>
#include <string_view>

namespace chalk::confinement {

std::vector<std::string> without_secrets(std::vector<std::string> environment, const std::vector<std::string>& listed) {
    std::erase_if(environment, [&listed](const std::string& entry) {
        const auto end = entry.find('=');
        const std::string_view name = std::string_view(entry).substr(0, end);
        const auto& own = own_key_names();
        return end != std::string::npos && (std::find(own.begin(), own.end(), name) != own.end() ||
                                            std::find(listed.begin(), listed.end(), name) != listed.end());
    });
    return environment;
}

} // namespace chalk::confinement
