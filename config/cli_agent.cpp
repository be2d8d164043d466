#include "config/cli_agent.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace chalk::config {

/// Made by CMake from config/agents/.
std::vector<std::string_view> embedded_cli_agents();

namespace {

std::vector<std::pair<json::json_pointer, json>> conditions(const json& value) {
    std::vector<std::pair<json::json_pointer, json>> all;
    for (const auto& [pointer, wanted] : value.items()) {
        all.emplace_back(json::json_pointer(pointer), wanted);
    }
    return all;
}

output_rule rule_of(const json& value) {
    output_rule rule;
    rule.where = conditions(value.at("where"));
    if (value.contains("each")) {
        rule.each = json::json_pointer(value["each"].get<std::string>());
        rule.of = conditions(value.value("of", json::object()));
    }
    if (value.contains("value")) {
        rule.value = json::json_pointer(value["value"].get<std::string>());
    }
    rule.says = value.value("says", std::string());
    rule.in_pieces = value.value("in_pieces", false);
    return rule;
}

std::vector<output_rule> rules_of(const json& list) {
    std::vector<output_rule> rules;
    std::transform(list.begin(), list.end(), std::back_inserter(rules), rule_of);
    return rules;
}

bool holds(const std::vector<std::pair<json::json_pointer, json>>& all, const json& value) {
    return std::all_of(all.begin(), all.end(),
                       [&](const auto& one) { return value.contains(one.first) && value.at(one.first) == one.second; });
}

std::string text_of(const output_rule& rule, const json& value) {
    std::string text;
    if (rule.value && value.contains(*rule.value)) {
        const json& found = value.at(*rule.value);
        text = found.is_string() ? found.get<std::string>() : found.dump();
    }
    return rule.says.empty() ? text : text.empty() ? rule.says : fmt::format("{}: {}", rule.says, text);
}

void apply(const output_rule& rule, const json& line, std::vector<std::string>& out) {
    if (!holds(rule.where, line)) {
        return;
    }
    if (!rule.each) {
        out.push_back(text_of(rule, line));
        return;
    }
    if (!line.contains(*rule.each) || !line.at(*rule.each).is_array()) {
        return;
    }
    for (const json& element : line.at(*rule.each)) {
        if (holds(rule.of, element)) {
            out.push_back(text_of(rule, element));
        }
    }
}

/// One pass, so that what is put in is not looked at again.
std::string fill(std::string_view text, const cli_agent_values& values, bool with_prompt) {
    const std::pair<std::string_view, const std::string*> known[] = {
        {"{prompt}", with_prompt ? &values.prompt : nullptr},
        {"{model}", &values.model},
        {"{gateway}", &values.gateway},
        {"{key}", &values.key},
        {"{mcp}", &values.mcp},
        {"{mcp_token}", &values.mcp_token},
        {"{home}", &values.home},
    };
    std::string out;
    while (!text.empty()) {
        const auto* const found = std::find_if(std::begin(known), std::end(known), [&](const auto& one) {
            return one.second != nullptr && text.starts_with(one.first);
        });
        if (found != std::end(known)) {
            out += *found->second;
            text.remove_prefix(found->first.size());
        } else {
            out += text.front();
            text.remove_prefix(1);
        }
    }
    return out;
}

/// Placeholders in a JSON file's keys and strings, so that what is put in gets its quotes right.
json fill(const json& value, const cli_agent_values& values) {
    if (value.is_string()) {
        return fill(value.get_ref<const std::string&>(), values, false);
    }
    if (value.is_array()) {
        json out = json::array();
        for (const json& element : value) {
            out.push_back(fill(element, values));
        }
        return out;
    }
    if (!value.is_object()) {
        return value;
    }
    json out = json::object();
    for (const auto& [key, element] : value.items()) {
        out[fill(key, values, false)] = fill(element, values);
    }
    return out;
}

} // namespace

result<cli_agent> parse_cli_agent(std::string_view text) {
    try {
        const json value = json::parse(text);
        cli_agent agent;
        agent.name = value.at("name");
        agent.program = value.at("program");
        agent.version_arguments = value.at("version");
        agent.install = value.at("install");
        agent.model_api = value.at("model_api");
        agent.arguments = value.at("arguments");
        agent.environment = value.at("environment");
        for (const auto& [path, content] : value.at("files").items()) {
            agent.files[path] = content;
        }
        agent.brings_tools = value.at("brings_tools");
        agent.texts = rules_of(value.at("texts"));
        agent.uses = rules_of(value.at("uses"));
        agent.failures = rules_of(value.at("failures"));
        agent.last = rule_of(value.at("last"));
        return agent;
    } catch (const std::exception& e) { // nlohmann's, and it says where
        return harness_failure(fmt::format("the description of a CLI agent is wrong: {}", e.what()));
    }
}

const std::vector<cli_agent>& cli_agents() {
    static const std::vector<cli_agent> all = [] {
        std::vector<cli_agent> agents;
        for (const auto text : embedded_cli_agents()) {
            agents.push_back(parse_cli_agent(text).value()); // a test holds every file
        }
        return agents;
    }();
    return all;
}

const cli_agent* find_cli_agent(std::string_view name) {
    const auto& all = cli_agents();
    const auto found = std::find_if(all.begin(), all.end(), [&](const cli_agent& one) { return one.name == name; });
    return found != all.end() ? &*found : nullptr;
}

cli_agent_start fill_in(const cli_agent& agent, const cli_agent_values& values) {
    cli_agent_start start;
    start.argv.push_back(agent.program);
    for (const auto& argument : agent.arguments) {
        start.argv.push_back(fill(argument, values, true));
    }
    for (const auto& [name, value] : agent.environment) {
        start.environment.push_back(fmt::format("{}={}", name, fill(value, values, false)));
    }
    for (const auto& [path, content] : agent.files) {
        start.files[fill(path, values, false)] = content.is_string()
                                                     ? fill(content.get_ref<const std::string&>(), values, false)
                                                     : fill(content, values).dump(2);
    }
    return start;
}

cli_agent_line read_line(const cli_agent& agent, std::string_view line) {
    cli_agent_line out;
    // The student may have written it: nested deep enough it would end whoever writes a part of it again.
    const auto parsed = parse_json(line);
    out.understood = parsed && parsed->is_object();
    if (!out.understood) {
        return out;
    }
    const json& value = *parsed;
    for (const auto& [rules, texts] : {std::pair(&agent.texts, &out.texts), std::pair(&agent.uses, &out.uses),
                                       std::pair(&agent.failures, &out.failures)}) {
        for (const auto& rule : *rules) {
            apply(rule, value, *texts);
        }
    }
    out.in_pieces = std::any_of(agent.texts.begin(), agent.texts.end(),
                                [&value](const auto& rule) { return rule.in_pieces && holds(rule.where, value); });
    out.last = holds(agent.last.where, value);
    return out;
}

} // namespace chalk::config
