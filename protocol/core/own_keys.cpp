#include "protocol/core/own_keys.hpp"

#include <algorithm>
#include <cstdlib>

namespace chalk {

const std::vector<std::string_view>& own_key_names() {
    static const std::vector<std::string_view> names = {
        "OPENAI_API_KEY", "ANTHROPIC_API_KEY", "OPENAI_COMPATIBLE_API_KEY", "GEMINI_API_KEY",
        "GOOGLE_API_KEY", "MODAL_TOKEN_ID",    "MODAL_TOKEN_SECRET",        "CHALK_BACKEND_TOKEN"};
    return names;
}

own_keys own_keys::take() {
    own_keys taken;
    for (const auto name : own_key_names()) {
        const std::string variable(name);
        if (char* value = std::getenv(variable.c_str())) {
            taken.values_.emplace(variable, value);
            // Also where it lies: /proc/PID/environ shows what a process was started with.
            std::fill(value, value + std::char_traits<char>::length(value), '\0');
            ::unsetenv(variable.c_str());
        }
    }
    return taken;
}

std::string own_keys::find(std::string_view name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? std::string() : found->second;
}

} // namespace chalk
