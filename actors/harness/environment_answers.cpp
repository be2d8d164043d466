#include "actors/harness/environment_answers.hpp"

#include "runtimes/confinement/captured_output.hpp"

#include <fmt/format.h>

#include <stdexcept>

namespace chalk::actors {

namespace {

/// Thrown and caught in this file only.
struct bad_answer : std::runtime_error {
    using std::runtime_error::runtime_error;
};

const json& field(const json& object, const char* name) {
    const auto found = object.find(name);
    if (found == object.end()) {
        throw bad_answer(fmt::format("{}: missing", name));
    }
    return *found;
}

std::string text(const json& object, const char* name) {
    const auto& value = field(object, name);
    if (!value.is_string()) {
        throw bad_answer(fmt::format("{}: expected a string", name));
    }
    return value.get<std::string>();
}

bool flag(const json& object, const char* name) {
    const auto& value = field(object, name);
    if (!value.is_boolean()) {
        throw bad_answer(fmt::format("{}: expected true or false", name));
    }
    return value.get<bool>();
}

const json& list(const json& object, const char* name) {
    const auto& value = field(object, name);
    if (!value.is_array()) {
        throw bad_answer(fmt::format("{}: expected a list", name));
    }
    return value;
}

json value_or_null(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() ? json(nullptr) : *found;
}

void expect_object(const json& value, const char* name) {
    if (!value.is_object()) {
        throw bad_answer(fmt::format("{}: expected an object", name));
    }
}

/// A model could not read more, and each of its later turns would carry it.
constexpr bytes most_tool_text = 1_MiB;

bool shorten(json& block, const std::string& whole) {
    if (whole.size() <= most_tool_text.count) {
        return false;
    }
    confinement::captured_output both_ends(most_tool_text);
    both_ends.append(whole);
    block["text"] = both_ends.text();
    return true;
}

lifecycle::fact loaded(const json& answer) {
    lifecycle::task_loaded task{text(answer, "name"), {}};
    for (const auto& step : list(answer, "steps")) {
        expect_object(step, "steps");
        task.steps.push_back(text(step, "name"));
    }
    return task;
}

lifecycle::fact configured(const json& answer) {
    lifecycle::tools_configured tools{list(answer, "tools"), {}};
    for (const auto& name : list(answer, "builtin")) {
        if (!name.is_string()) {
            throw bad_answer("builtin: expected names");
        }
        tools.builtin.push_back(name.get<std::string>());
    }
    return tools;
}

lifecycle::fact prompt(const json& answer) {
    if (field(answer, "text").is_null()) {
        return lifecycle::system_prompt_given{};
    }
    return lifecycle::system_prompt_given{text(answer, "text")};
}

lifecycle::fact verdict(const json& answer) {
    const auto& score = field(answer, "score");
    if (!score.is_number()) {
        throw bad_answer("score: expected a number");
    }
    return lifecycle::judged{score.get<double>(), flag(answer, "continue_task"), text(answer, "explanation"),
                             value_or_null(answer, "metadata")};
}

lifecycle::fact read(std::string_view method, const json& answer) {
    expect_object(answer, "the answer");
    if (method == "load_task") {
        return loaded(answer);
    }
    if (method == "configure_tools") {
        return configured(answer);
    }
    if (method == "pre_hook") {
        return lifecycle::pre_hook_returned{value_or_null(answer, "metadata")};
    }
    if (method == "system_prompt") {
        return prompt(answer);
    }
    if (method == "start_step") {
        auto changes = value_or_null(answer, "extra_config");
        return lifecycle::step_begun{text(answer, "instructions"), changes.is_null() ? json::object() : changes};
    }
    if (method == "pre_scoring_hook") {
        return lifecycle::pre_scoring_returned{};
    }
    if (method == "judge") {
        return verdict(answer);
    }
    if (method == "post_hook") {
        return lifecycle::post_hook_returned{};
    }
    throw bad_answer("nobody asks for this method");
}

template<class Read>
auto guarded(std::string_view method, Read&& reader) -> result<decltype(reader())> {
    try {
        return reader();
    } catch (const bad_answer& why) {
        return task_failure(fmt::format("the environment's answer to {}: {}", method, why.what()));
    }
}

} // namespace

result<lifecycle::fact> fact_of(std::string_view method, const json& answer) {
    return guarded(method, [&] { return read(method, answer); });
}

result<host_channel::described> described_tasks(const json& answer) {
    return guarded("list_tasks", [&] {
        expect_object(answer, "the answer");
        host_channel::described all;
        for (const auto& entry : list(answer, "tasks")) {
            expect_object(entry, "tasks");
            host_channel::described_task task{text(entry, "name"), std::nullopt, 0};
            if (!value_or_null(entry, "required_hardware").is_null()) {
                task.required_hardware = text(entry, "required_hardware");
            }
            const auto& steps = field(entry, "steps");
            if (!steps.is_number_unsigned()) {
                throw bad_answer("tasks.steps: expected a count");
            }
            task.steps = steps.get<std::size_t>();
            all.tasks.push_back(std::move(task));
        }
        return all;
    });
}

result<environment_tool> tool_of(const json& value) {
    return guarded("configure_tools", [&] {
        expect_object(value, "tools");
        environment_tool tool;
        tool.spec.name = text(value, "name");
        if (tool.spec.name.empty()) {
            throw bad_answer("tools.name: empty");
        }
        tool.spec.description = text(value, "description");
        tool.spec.input_schema = field(value, "input_schema");
        expect_object(tool.spec.input_schema, "tools.input_schema");
        const auto timeout = value_or_null(value, "timeout_s");
        if (!timeout.is_null()) {
            // A day is more than any run lives; the bound keeps the conversion below in range.
            if (!timeout.is_number() || !(timeout.get<double>() > 0) || timeout.get<double>() > 86'400) {
                throw bad_answer(fmt::format("tools.timeout_s of {}: expected seconds up to 86400", tool.spec.name));
            }
            tool.timeout = milliseconds(static_cast<std::int64_t>(timeout.get<double>() * 1000));
        }
        return tool;
    });
}

result<std::optional<solution_command>> solution_of(const json& answer) {
    return guarded("solution", [&]() -> std::optional<solution_command> {
        expect_object(answer, "the answer");
        if (field(answer, "argv").is_null()) {
            return std::nullopt;
        }
        solution_command solution;
        for (const auto& word : list(answer, "argv")) {
            if (!word.is_string()) {
                throw bad_answer("argv: expected strings");
            }
            solution.argv.push_back(word.get<std::string>());
        }
        if (solution.argv.empty()) {
            throw bad_answer("argv: expected a program");
        }
        const auto& environment = field(answer, "env");
        expect_object(environment, "env");
        for (const auto& [name, value] : environment.items()) {
            solution.environment.push_back(name + "=" + text(environment, name.c_str()));
        }
        return solution;
    });
}

result<mcp::tool_output> tool_output_of(const json& answer) {
    return guarded("call_tool", [&] {
        expect_object(answer, "the answer");
        mcp::tool_output output;
        for (const auto& block : list(answer, "content")) {
            expect_object(block, "content");
            auto& kept = output.content.emplace_back(block);
            if (text(block, "type") == "text") {
                output.truncated = shorten(kept, text(block, "text")) || output.truncated;
            }
        }
        output.is_error = flag(answer, "is_error");
        return output;
    });
}

} // namespace chalk::actors
