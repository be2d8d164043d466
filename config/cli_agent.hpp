/// CLI agents: programs that work on a step by themselves and reach the tools over MCP and the model over the gateway's
/// port. One JSON file each (config/agents/), embedded: how it is found, started and configured, and how its output
/// (one JSON value a line) tells what it said, which tools it used and that it failed. Adding one needs no C++.
///
/// Pure: reads and starts nothing.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/core/result.hpp"

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::config {

/// What to look for in a line of output.
struct output_rule {
    std::vector<std::pair<json::json_pointer, json>> where; ///< all must be there, with these values
    std::optional<json::json_pointer> each;                 ///< then in each element of this list
    std::vector<std::pair<json::json_pointer, json>> of;    ///< that has these values
    std::optional<json::json_pointer> value;                ///< the text at this place
    std::string says;                                       ///< put before it
    bool in_pieces = false; ///< of texts: one text comes as several lines, until one of another kind
};

struct cli_agent {
    std::string name;
    std::string program;                        ///< looked for on the student's PATH
    std::vector<std::string> version_arguments; ///< print its version and end
    std::string install;                        ///< what a person types to get it
    std::string model_api;                      ///< "openai", "openai_responses", "anthropic" or "gemini"
    std::vector<std::string> arguments;         ///< with placeholders
    std::map<std::string, std::string> environment;
    std::map<std::string, json> files;     ///< path to content, both with placeholders; text, or a JSON value
    std::vector<std::string> brings_tools; ///< tools of chalk's own that it has no use for
    std::vector<output_rule> texts;
    std::vector<output_rule> uses;
    std::vector<output_rule> failures;
    output_rule last; ///< must have matched some line, or the run of the program was cut short
};

/// The agent that runs the environment's own solution and asks no model.
inline constexpr std::string_view oracle_agent = "oracle";

/// "builtin", "oracle", "external", and the names of the files of config/agents/: known without reading any.
[[nodiscard]] const std::vector<std::string_view>& agent_names();

/// All of this build, by name.
[[nodiscard]] const std::vector<cli_agent>& cli_agents();
/// nullptr: there is none of that name.
[[nodiscard]] const cli_agent* find_cli_agent(std::string_view name);

/// What the placeholders stand for. {prompt} is replaced in arguments alone.
struct cli_agent_values {
    std::string prompt;
    std::string model;   ///< without its prefix
    std::string gateway; ///< http://127.0.0.1:PORT
    std::string key;     ///< not a real one: the gateway knows the run by its socket
    std::string mcp;     ///< http://HOST:PORT/mcp
    std::string mcp_token;
    std::string home; ///< a folder of the student's for this agent's files
};

struct cli_agent_start {
    std::vector<std::string> argv;        ///< the program first
    std::vector<std::string> environment; ///< NAME=value
    std::map<std::string, std::string> files;
};

[[nodiscard]] cli_agent_start fill_in(const cli_agent& agent, const cli_agent_values& values);

/// What one line of output says.
struct cli_agent_line {
    std::vector<std::string> texts;
    bool in_pieces = false; ///< the texts go on those of the lines before
    std::vector<std::string> uses;
    std::vector<std::string> failures;
    bool last = false;
    bool understood = false; ///< it was a JSON object, nested no deeper than parse_json takes
};

[[nodiscard]] cli_agent_line read_line(const cli_agent& agent, std::string_view line);

/// One file of config/agents/. error_class::harness with what is wrong: it is ours.
[[nodiscard]] result<cli_agent> parse_cli_agent(std::string_view text);

} // namespace chalk::config
