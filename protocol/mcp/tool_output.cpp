#include "protocol/mcp/server.hpp"

#include <fmt/format.h>

namespace chalk::mcp {

tool_output tool_output::text(std::string text, bool is_error) {
    tool_output out;
    out.content.push_back({{"type", "text"}, {"text", std::move(text)}});
    out.is_error = is_error;
    return out;
}

std::string tool_output::as_text() const {
    std::string out;
    for (const auto& block : content) {
        const auto type = block.is_object() ? block.value("type", json("unknown")) : json("unknown");
        const auto text = block.is_object() && block.contains("text") ? block["text"] : json();
        out += out.empty() ? "" : "\n";
        out += type == "text" && text.is_string()
                   ? text.get<std::string>()
                   : fmt::format("[{}]", type.is_string() ? type.get<std::string>() : "?");
    }
    return out;
}

} // namespace chalk::mcp
