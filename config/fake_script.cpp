#include "config/fake_script.hpp"

#include "config/nearest.hpp"
#include "config/run_config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::config {

namespace {

const std::vector<std::string> turn_keys = {"text", "reasoning", "tool_calls", "stop_reason"};
const std::vector<std::string> call_keys = {"name", "arguments"};
const std::vector<std::string> stop_reasons = {"end", "tool_calls", "length"};

/// Walks the script and keeps the first thing that is wrong.
class script_check {
  public:
    explicit script_check(const json_document& document) : document_(document) {}

    result<void> operator()(const json& script, const std::string& path) {
        list(script, path, "a list of steps", [&](const json& step, const std::string& at) {
            list(step, at, "a step, a list of turns",
                 [&](const json& one, const std::string& where) { turn(one, where); });
        });
        if (wrong_.empty()) {
            return {};
        }
        return config_failure(wrong_);
    }

  private:
    void refuse(const std::string& path, std::string_view cause) {
        if (wrong_.empty()) {
            wrong_ = document_.at(path, cause).message;
        }
    }

    void expected(const std::string& path, std::string_view what, const json& value) {
        refuse(path, fmt::format("expected {}, got {}", what, preview(value)));
    }

    template<class Each>
    void list(const json& value, const std::string& path, std::string_view what, Each&& each) {
        if (!value.is_array()) {
            return expected(path, what, value);
        }
        for (std::size_t i = 0; i < value.size() && wrong_.empty(); ++i) {
            each(value[i], join_path(path, i));
        }
    }

    /// False when it is no object with these keys only.
    bool object(const json& value, const std::string& path, std::string_view what,
                const std::vector<std::string>& keys) {
        if (!value.is_object()) {
            expected(path, what, value);
            return false;
        }
        for (const auto& [key, ignored] : value.items()) {
            if (std::find(keys.begin(), keys.end(), key) == keys.end()) {
                refuse(join_path(path, key), "unknown key" + suggestion(key, keys));
                return false;
            }
        }
        return true;
    }

    void text(const json& parent, const std::string& path, const char* key) {
        const auto found = parent.find(key);
        if (found != parent.end() && !found->is_string()) {
            expected(join_path(path, key), "a string", *found);
        }
    }

    void turn(const json& value, const std::string& path) {
        if (!object(value, path, "a turn, an object", turn_keys)) {
            return;
        }
        text(value, path, "text");
        text(value, path, "reasoning");
        if (const auto reason = value.find("stop_reason");
            reason != value.end() &&
            (!reason->is_string() ||
             std::find(stop_reasons.begin(), stop_reasons.end(), reason->get<std::string>()) == stop_reasons.end())) {
            expected(join_path(path, "stop_reason"), fmt::format("one of \"{}\"", fmt::join(stop_reasons, "\", \"")),
                     *reason);
        }
        if (const auto calls = value.find("tool_calls"); calls != value.end()) {
            list(*calls, join_path(path, "tool_calls"), "a list of tool calls",
                 [&](const json& one, const std::string& where) { call(one, where); });
        }
    }

    void call(const json& value, const std::string& path) {
        if (!object(value, path, "a tool call, an object", call_keys)) {
            return;
        }
        const auto name = value.find("name");
        if (name == value.end()) {
            return refuse(path, "the key \"name\" is missing");
        }
        if (!name->is_string() || name->get_ref<const std::string&>().empty()) {
            expected(join_path(path, "name"), "a tool's name", *name);
        }
        if (const auto arguments = value.find("arguments"); arguments != value.end() && !arguments->is_object()) {
            expected(join_path(path, "arguments"), "an object", *arguments);
        }
    }

    const json_document& document_;
    std::string wrong_;
};

} // namespace

result<void> check_fake_script(const json_document& document, const json& script, const std::string& path) {
    return script_check(document)(script, path);
}

json fake_script_schema() {
    const json text = {{"type", "string"}};
    const json call = {
        {"type", "object"},
        {"additionalProperties", false},
        {"required", {"name"}},
        {"properties", {{"name", {{"type", "string"}, {"minLength", 1}}}, {"arguments", {{"type", "object"}}}}}};
    const json turn = {{"type", "object"},
                       {"additionalProperties", false},
                       {"properties",
                        {{"text", text},
                         {"reasoning", text},
                         {"tool_calls", {{"type", "array"}, {"items", call}}},
                         {"stop_reason", {{"enum", stop_reasons}}}}}};
    return {{"type", "array"}, {"items", {{"type", "array"}, {"items", turn}}}};
}

} // namespace chalk::config
