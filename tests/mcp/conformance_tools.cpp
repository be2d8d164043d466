#include "tests/mcp/conformance_tools.hpp"

#include <boost/asio/steady_timer.hpp>

#include <map>
#include <memory>
#include <string>

namespace chalk::test {
namespace {

using reply_function = std::function<void(mcp::tool_output)>;

/// One red pixel.
constexpr const char* png =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
/// No samples at 8 kHz.
constexpr const char* wav = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAEAfAAABAAgAZGF0YQAAAAA=";

json image() {
    return {{"type", "image"}, {"data", png}, {"mimeType", "image/png"}};
}

json resource(const char* uri, const char* type, const char* text) {
    return {{"type", "resource"}, {"resource", {{"uri", uri}, {"mimeType", type}, {"text", text}}}};
}

json text(const char* text) {
    return {{"type", "text"}, {"text", text}};
}

const std::map<std::string, std::vector<json>>& fixed_answers() {
    static const std::map<std::string, std::vector<json>> all = {
        {"test_simple_text", {text("This is a simple text response for testing.")}},
        {"test_image_content", {image()}},
        {"test_audio_content", {{{"type", "audio"}, {"data", wav}, {"mimeType", "audio/wav"}}}},
        {"test_embedded_resource",
         {resource("test://embedded-resource", "text/plain", "This is an embedded resource content.")}},
        {"test_multiple_content_types",
         {text("Multiple content types test:"), image(),
          resource("test://mixed-content-resource", "application/json", R"({"test":"data","value":123})")}},
        {"json_schema_2020_12_tool", {text("It fits the schema.")}},
    };
    return all;
}

void log_for_a_while(boost::asio::io_context& io, const mcp::call_request& call, const reply_function& reply) {
    call.reporter->log(log_level::info, "Tool execution started");
    after(io, 50, [&io, reporter = call.reporter, reply] {
        reporter->log(log_level::info, "Tool processing data");
        after(io, 50, [reporter, reply] {
            reporter->log(log_level::info, "Tool execution completed");
            reply(mcp::tool_output::text("logged"));
        });
    });
}

void progress_for_a_while(boost::asio::io_context& io, const mcp::call_request& call, const reply_function& reply) {
    call.reporter->progress(0, 100, "begun");
    after(io, 50, [&io, reporter = call.reporter, reply] {
        reporter->progress(50, 100, {});
        after(io, 50, [reporter, reply] {
            reporter->progress(100, 100, {});
            reply(mcp::tool_output::text("done"));
        });
    });
}

} // namespace

void after(boost::asio::io_context& io, int ms, std::function<void()> action) {
    auto timer = std::make_shared<boost::asio::steady_timer>(io);
    timer->expires_after(milliseconds(ms));
    timer->async_wait([timer, action = std::move(action)](const auto&) { action(); });
}

std::vector<mcp::tool_spec> conformance_tools() {
    const json nothing = {{"type", "object"}};
    std::vector<mcp::tool_spec> all;
    for (const auto& [name, answer] : fixed_answers()) {
        all.push_back({name, "Always answers the same", nothing});
    }
    for (auto& tool : all) {
        if (tool.name == "json_schema_2020_12_tool") {
            tool.input_schema = json::parse(R"({
                "$schema": "https://json-schema.org/draft/2020-12/schema",
                "type": "object",
                "$defs": {"address": {"type": "object", "properties": {
                    "street": {"type": "string"}, "city": {"type": "string"}}}},
                "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}},
                "additionalProperties": false})");
        }
    }
    all.push_back({"test_error_handling", "Always fails", nothing});
    all.push_back({"test_tool_with_logging", "Logs three lines", nothing});
    all.push_back({"test_tool_with_progress", "Reports 0, 50 and 100 of 100", nothing});
    all.push_back({"test_reconnection", "Ends its stream before it answers", nothing});
    return all;
}

bool call_conformance_tool(boost::asio::io_context& io, const mcp::call_request& call, const reply_function& reply) {
    if (const auto found = fixed_answers().find(call.name); found != fixed_answers().end()) {
        reply({found->second, false, false});
    } else if (call.name == "test_error_handling") {
        reply(mcp::tool_output::text("This tool intentionally returns an error for testing", true));
    } else if (call.name == "test_tool_with_logging") {
        log_for_a_while(io, call, reply);
    } else if (call.name == "test_tool_with_progress") {
        progress_for_a_while(io, call, reply);
    } else if (call.name == "test_reconnection") {
        call.reporter->end_stream();
        after(io, 100, [reply] { reply(mcp::tool_output::text("reconnected")); });
    } else {
        return false;
    }
    return true;
}

} // namespace chalk::test
