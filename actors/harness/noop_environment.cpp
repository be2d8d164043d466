#include "actors/harness/noop_environment.hpp"

#include <fmt/format.h>

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

} // namespace

environment::call_result noop_environment::answer(std::string_view method, const json& params) {
    if (method == "list_tasks") {
        return given({{"tasks", json::array({{{"name", "noop"}, {"required_hardware", nullptr}, {"steps", steps_}}})}});
    }
    if (method == "load_task") {
        const auto name = params.value("name", "");
        if (!name.empty() && name != "noop") {
            return refused(fmt::format("no task \"{}\"; {} has one task, \"noop\"", name, noop_environment_name));
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
            steps.push_back({{"name", fmt::format("step {}", i)}});
        }
        return given({{"name", "noop"}, {"required_hardware", nullptr}, {"steps", std::move(steps)}});
    }
    if (method == "configure_tools") {
        static const json schema{{"type", "object"},
                                 {"properties", {{"text", {{"type", "string"}}}}},
                                 {"required", json::array({"text"})},
                                 {"additionalProperties", false}};
        static const json echo{{"name", "echo"}, {"description", "Gives its text back."}, {"input_schema", schema}};
        return given({{"tools", json::array({echo})}, {"builtin", json::array()}});
    }
    if (method == "pre_hook") {
        return given({{"metadata", nullptr}});
    }
    if (method == "system_prompt") {
        return given({{"text", nullptr}});
    }
    if (method == "start_step") {
        return given({{"instructions", "Do nothing."}, {"extra_config", json::object()}});
    }
    if (method == "call_tool") {
        const json block{{"type", "text"}, {"text", params.at("arguments").value("text", "")}};
        return given({{"content", json::array({block})}, {"is_error", false}});
    }
    if (method == "pre_scoring_hook" || method == "post_hook") {
        return given(json::object());
    }
    if (method == "judge") {
        return given({{"score", 1.0}, {"continue_task", true}, {"explanation", ""}, {"metadata", nullptr}});
    }
    return refused(fmt::format("{} has no method {}", noop_environment_name, method));
}

} // namespace chalk::actors
