#include "runtimes/confinement/secrets.hpp"

#include <algorithm>

namespace chalk::confinement {

const std::vector<std::string_view>& own_secrets() {
    static const std::vector<std::string_view> names = {
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY",  "OPENAI_COMPATIBLE_API_KEY", "GEMINI_API_KEY",
        "MODAL_TOKEN_ID", "MODAL_TOKEN_SECRET", "CHALK_BACKEND_TOKEN"};
    return names;
}

std::vector<std::string> without_secrets(std::vector<std::string> environment, const std::vector<std::string>& listed) {
    std::erase_if(environment, [&listed](const std::string& entry) {
        const auto end = entry.find('=');
        const std::string_view name = std::string_view(entry).substr(0, end);
        const auto& own = own_secrets();
        return end != std::string::npos && (std::find(own.begin(), own.end(), name) != own.end() ||
                                            std::find(listed.begin(), listed.end(), name) != listed.end());
    });
    return environment;
}

} // namespace chalk::confinement
