#include "actors/harness/noop_environment.hpp"

#include "config/run_config.hpp"

#include <fmt/format.h>

#include <map>

namespace chalk::actors {

namespace {

environment::call_result given(json value) {
    return {boost::system::in_place_value, std::move(value)};
}

environment::call_result refused(std::string message) {
    return environment::call_error{environment::call_error_kind::remote,
                                   static_cast<int>(environment::rpc_code::environment_exception),
                                   std::move(message),
                                   {}};
}

json echo_alone() {
    const json schema{{"type", "object"},
                      {"properties", {{"text", {{"type", "string"}}}}},
                      {"required", json::array({"text"})},
                      {"additionalProperties", false}};
    const json echo{{"name", "echo"}, {"description", "Gives its text back."}, {"input_schema", schema}};
    return {{"tools", json::array({echo})}, {"builtin", json::array()}};
}

/// What is always answered alike. Null: another method.
const json* constant_answer(std::string_view method) {
    static const std::map<std::string_view, json> all{
        {"configure_tools", echo_alone()},
        {"pre_hook", {{"metadata", nullptr}}},
        {"system_prompt", {{"text", nullptr}}},
        {"start_step", {{"instructions", "Do nothing."}, {"extra_config", json::object()}}},
        {"pre_scoring_hook", json::object()},
        {"judge", {{"score", 1.0}, {"continue_task", true}, {"explanation", ""}, {"metadata", nullptr}}},
        {"post_hook", json::object()}};
    const auto found = all.find(method);
    return found == all.end() ? nullptr : &found->second;
}

} // namespace

environment::call_result noop_environment::answer(std::string_view method, const json& params) {
    if (const json* constant = constant_answer(method)) {
        return given(*constant);
    }
    if (method == "list_tasks") {
        return given({{"tasks", json::array({{{"name", "noop"}, {"required_hardware", nullptr}, {"steps", steps_}}})}});
    }
    if (method == "load_task") {
        const auto name = params.value("name", "");
        if (!name.empty() && name != "noop") {
            return refused(fmt::format("no task \"{}\"; {} has one task, \"noop\"", name, config::noop_environment));
        }
        const auto& args = params.at("args");
        if (const auto wanted = args.find("steps"); wanted != args.end()) {
            if (!wanted->is_number_unsigned() || wanted->get<std::uint64_t>() > 10'000) {
                return refused("task_args.steps: expected a number from 0 to 10000");
            }
            steps_ = wanted->get<std::size_t>();
        }
        auto steps = json::array();
        for (std::size_t i = 0; i < steps_; ++i) {
            json step = json::object();
            step["name"] = fmt::format("step {}", i);
            steps.push_back(std::move(step));
        }
        json task = json::object();
        task["name"] = "noop";
        task["required_hardware"] = nullptr;
        task["steps"] = std::move(steps);
        return given(std::move(task));
    }
    if (method == "call_tool") {
        const json block{{"type", "text"}, {"text", params.at("arguments").value("text", "")}};
        return given({{"content", json::array({block})}, {"is_error", false}});
    }
    return refused(fmt::format("{} has no method {}", config::noop_environment, method));
}

} // namespace chalk::actors
