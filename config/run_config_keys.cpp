#include "config/run_config_keys.hpp"

#include "config/cli_agent.hpp"

#include <algorithm>
#include <array>

namespace chalk::config {

namespace {

template<class T>
json or_null(const std::optional<T>& value) {
    return value ? json(*value) : json();
}

json seconds_or_null(const std::optional<seconds>& value) {
    return value ? json(value->count()) : json();
}

// JSON Schema and the loader agree on these through a test (run_config_schema.test.cpp).
constexpr std::string_view run_id_pattern = "^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$";
constexpr std::string_view uri_pattern = "^((https?|wss?)://.+)?$";

const std::vector<key_spec>& table() {
    static const std::vector<key_spec> keys = {
        {.path = "environment",
         .required = true,
         .doc = "Folder of the environment, relative to the config file; \"builtin:noop\" is an empty one without "
                "files.",
         .set = [](run_config& c, const json& v) { c.environment = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.environment.string()); }},
        {.path = "task",
         .doc = "Which of the environment's tasks to run; may be left out where there is only one.",
         .set = [](run_config& c, const json& v) { c.task = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.task); }},
        {.path = "task_args",
         .kind = value_kind::object,
         .doc = "Arguments for the task, passed on as they are.",
         .set = [](run_config& c, const json& v) { c.task_args = v; },
         .get = [](const run_config& c) { return c.task_args; }},
        {.path = "run_id",
         .nullable = true,
         .pattern = run_id_pattern,
         .shown_default = "environment and time",
         .doc = "Name of the run: 1 to 100 letters, digits, dots, underscores and dashes, a letter or digit first.",
         .set = [](run_config& c, const json& v) { c.id = run_id::parse(v.get<std::string>()).value(); },
         .get = [](const run_config& c) { return c.id.empty() ? json() : json(c.id.str()); }},
        {.path = "transcript_file",
         .doc = "Where the transcript goes, relative to the working directory.",
         .set = [](run_config& c, const json& v) { c.transcript_file = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.transcript_file.string()); }},
        {.path = "agent",
         .choices = agent_names(),
         .doc = "Who works on the task: \"builtin\" is chalk's own loop around a model, \"external\" the same around "
                "whoever answers at backend_uri, the others are programs of their own (`chalk agents list`).",
         .set = [](run_config& c, const json& v) { c.agent = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.agent); }},
        {.path = "agent_args.program",
         .doc = "Program of the agent inside the sandbox, where it is not on the student's PATH.",
         .set = [](run_config& c, const json& v) { c.agent_program = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.agent_program); }},
        {.path = "model",
         .doc = "The model that the agent asks: openai/NAME, openai_responses/NAME, anthropic/NAME or "
                "openai_compatible/NAME.",
         .set = [](run_config& c, const json& v) { c.model = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.model); }},
        {.path = "model_args",
         .kind = value_kind::object,
         .doc =
             "Arguments for the model, such as a temperature, passed on as they are; docs/protocols/model-apis.md has "
             "the few that chalk knows.",
         .set = [](run_config& c, const json& v) { c.model_args = v; },
         .get = [](const run_config& c) { return c.model_args; }},
        {.path = "use_fake_model",
         .kind = value_kind::boolean,
         .doc = "Let a script take the model's place: no key, no network, no cost.",
         .set = [](run_config& c, const json& v) { c.use_fake_model = v.get<bool>(); },
         .get = [](const run_config& c) { return json(c.use_fake_model); }},
        {.path = "fake_model.script",
         .kind = value_kind::script,
         .doc = "What the fake model says: a list of turns for each step, or the path of a JSON file that holds it, "
                "relative to the config file.",
         .set = [](run_config& c, const json& v) { c.fake.script = v; },
         .get = [](const run_config& c) { return c.fake.script; }},
        {.path = "fake_model.latency_ms",
         .kind = value_kind::whole_number,
         .maximum = 3'600'000,
         .doc = "Milliseconds that the fake model waits before each turn.",
         .set = [](run_config& c, const json& v) { c.fake.latency = milliseconds(v.get<std::uint32_t>()); },
         .get = [](const run_config& c) { return json(c.fake.latency.count()); }},
        {.path = "backend_uri",
         .pattern = uri_pattern,
         .doc = "Address of a backend (http, https, ws or wss) that receives the run's events, and that an external "
                "agent's "
                "messages come from; empty for none. CHALK_BACKEND_TOKEN is its token.",
         .set = [](run_config& c, const json& v) { c.backend_uri = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.backend_uri); }},
        {.path = "websocket_port",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 65535,
         .shown_default = "no listener",
         .doc = "Port on which the run's events are served; with -n N, run i takes this port plus i.",
         .set = [](run_config& c, const json& v) { c.websocket_port = v.get<std::uint16_t>(); },
         .get = [](const run_config& c) { return or_null(c.websocket_port); }},
        {.path = "mcp_server_config.host",
         .doc = "Address on which the tool server listens inside the sandbox.",
         .set = [](run_config& c, const json& v) { c.mcp.host = v.get<std::string>(); },
         .get = [](const run_config& c) { return json(c.mcp.host); }},
        {.path = "mcp_server_config.port",
         .kind = value_kind::whole_number,
         .maximum = 65535,
         .doc = "Port of the tool server inside the sandbox; 0 takes any that is free.",
         .set = [](run_config& c, const json& v) { c.mcp.port = v.get<std::uint16_t>(); },
         .get = [](const run_config& c) { return json(c.mcp.port); }},
        {.path = "save_artifacts",
         .kind = value_kind::boolean,
         .doc = "Keep the files that the task names as artifacts.",
         .set = [](run_config& c, const json& v) { c.save_artifacts = v.get<bool>(); },
         .get = [](const run_config& c) { return json(c.save_artifacts); }},
        {.path = "limits.max_turns",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 1'000'000,
         .shown_default = "no limit",
         .doc = "Assistant turns a step may take; the step then ends and is judged as it stands.",
         .set = [](run_config& c, const json& v) { c.limit.max_turns = v.get<std::uint32_t>(); },
         .get = [](const run_config& c) { return or_null(c.limit.max_turns); }},
        {.path = "limits.max_time_s",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 31'536'000,
         .shown_default = "no limit",
         .doc = "Seconds a step may take by the clock; the step then ends and is judged as it stands.",
         .set = [](run_config& c, const json& v) { c.limit.max_time = seconds(v.get<std::uint32_t>()); },
         .get = [](const run_config& c) { return seconds_or_null(c.limit.max_time); }},
        {.path = "limits.max_context_tokens",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 1'000'000'000,
         .shown_default = "no limit",
         .doc = "Tokens that one model call may use; the step then ends and is judged as it stands.",
         .set = [](run_config& c, const json& v) { c.limit.max_context_tokens = v.get<std::uint64_t>(); },
         .get = [](const run_config& c) { return or_null(c.limit.max_context_tokens); }},
        {.path = "limits.max_working_time_s",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 31'536'000,
         .shown_default = "no limit",
         .doc = "Seconds a step may take without those it waits for the model; the step then ends and is judged as it "
                "stands.",
         .set = [](run_config& c, const json& v) { c.limit.max_working_time = seconds(v.get<std::uint32_t>()); },
         .get = [](const run_config& c) { return seconds_or_null(c.limit.max_working_time); }},
        {.path = "limits.max_total_tokens",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 1'000'000'000'000,
         .shown_default = "no limit",
         .doc = "Input and output tokens of all model calls of a step; the step then ends and is judged as it stands.",
         .set = [](run_config& c, const json& v) { c.limit.max_total_tokens = v.get<std::uint64_t>(); },
         .get = [](const run_config& c) { return or_null(c.limit.max_total_tokens); }},
        {.path = "limits.max_run_turns",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 1'000'000,
         .shown_default = "no limit",
         .doc = "As max_turns, over all steps of a run; steps that are left end at once and are judged as they stand.",
         .set = [](run_config& c, const json& v) { c.limit.run.max_turns = v.get<std::uint32_t>(); },
         .get = [](const run_config& c) { return or_null(c.limit.run.max_turns); }},
        {.path = "limits.max_run_time_s",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 31'536'000,
         .shown_default = "no limit",
         .doc = "As max_time_s, from the start of the first step.",
         .set = [](run_config& c, const json& v) { c.limit.run.max_time = seconds(v.get<std::uint32_t>()); },
         .get = [](const run_config& c) { return seconds_or_null(c.limit.run.max_time); }},
        {.path = "limits.max_run_working_time_s",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 31'536'000,
         .shown_default = "no limit",
         .doc = "As max_working_time_s, over all steps of a run.",
         .set = [](run_config& c, const json& v) { c.limit.run.max_working_time = seconds(v.get<std::uint32_t>()); },
         .get = [](const run_config& c) { return seconds_or_null(c.limit.run.max_working_time); }},
        {.path = "limits.max_run_total_tokens",
         .kind = value_kind::whole_number,
         .nullable = true,
         .minimum = 1,
         .maximum = 1'000'000'000'000,
         .shown_default = "no limit",
         .doc = "As max_total_tokens, over all steps of a run.",
         .set = [](run_config& c, const json& v) { c.limit.run.max_total_tokens = v.get<std::uint64_t>(); },
         .get = [](const run_config& c) { return or_null(c.limit.run.max_total_tokens); }},
        {.path = "limits.max_usd",
         .kind = value_kind::amount,
         .nullable = true,
         .maximum = 1'000'000,
         .shown_default = "no limit",
         .doc = "US dollars that the run's model calls may cost, by the file of --prices; the gateway then refuses "
                "more.",
         .set = [](run_config& c, const json& v) { c.limit.max_usd = v.get<double>(); },
         .get = [](const run_config& c) { return or_null(c.limit.max_usd); }},
        {.path = "extra_config",
         .kind = value_kind::object,
         .doc = "Further settings for the task; a step may change them. Keys that are not listed here are passed on as "
                "they are.",
         .set = [](run_config& c, const json& v) { c.extra_config = v; },
         .get = [](const run_config& c) { return c.extra_config; }},
        {.path = "extra_config.extra_artifact_paths",
         .kind = value_kind::text_list,
         .shown_default = "none",
         .doc = "Files in the sandbox that are saved as artifacts after each step; relative ones are below /workdir."},
    };
    return keys;
}

/// The path's last name and what stands before it.
std::pair<std::string_view, std::string_view> split_path(std::string_view path) {
    const auto dot = path.rfind('.');
    return dot == std::string_view::npos ? std::pair(std::string_view{}, path)
                                         : std::pair(path.substr(0, dot), path.substr(dot + 1));
}

} // namespace

std::span<const key_spec> run_config_keys() {
    return table();
}

const key_spec* find_key(std::string_view path) {
    const auto found =
        std::find_if(table().begin(), table().end(), [&](const key_spec& spec) { return spec.path == path; });
    return found == table().end() ? nullptr : &*found;
}

bool is_group(std::string_view path) {
    return find_key(path) == nullptr && std::any_of(table().begin(), table().end(), [&](const key_spec& s) {
               return split_path(s.path).first == path;
           });
}

std::vector<std::string> names_in(std::string_view group) {
    std::vector<std::string> names;
    for (const auto& spec : table()) {
        const auto [parent, name] = split_path(spec.path);
        if (parent == group) {
            names.emplace_back(name);
        } else if (group.empty() && is_group(parent) && std::find(names.begin(), names.end(), parent) == names.end()) {
            names.emplace_back(parent);
        }
    }
    return names;
}

} // namespace chalk::config
