#include "protocol/model/api_choice.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace chalk::model {

namespace {

constexpr std::array<std::string_view, 5> providers = {"openai", "openai_responses", "anthropic", "gemini",
                                                       "openai_compatible"};

/// What a dialect writes itself: an argument of that name would break the request.
constexpr std::array<std::string_view, 10> reserved = {"model",
                                                       "messages",
                                                       "input",
                                                       "tools",
                                                       "stream",
                                                       "stream_options",
                                                       "system",
                                                       "contents",
                                                       "systemInstruction",
                                                       "system_instruction"};

/// It goes into a header.
bool is_plain(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) { return c > ' ' && c < '\x7f'; });
}

/// It goes into a path.
bool is_path_segment(std::string_view text) {
    return std::all_of(text.begin(), text.end(), [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
               c == '_';
    });
}

std::string defect_of(const std::string& key, const json& value) {
    if (std::find(reserved.begin(), reserved.end(), key) != reserved.end()) {
        return "chalk sets it itself";
    }
    if (key == "max_tokens" && !(value.is_number_integer() && value.get<std::int64_t>() > 0)) {
        return "expected a whole number from 1";
    }
    if ((key == "reasoning_effort" || key == "api") && !value.is_string()) {
        return "expected a string";
    }
    if (key == "anthropic_beta" && !(value.is_string() && is_plain(value.get_ref<const std::string&>()))) {
        return "expected the names of features, with commas and without spaces between them";
    }
    return {};
}

} // namespace

result<api_choice> choose_api(const std::string& full_name, const json& args) {
    const auto slash = full_name.find('/');
    const auto provider = full_name.substr(0, slash);
    if (slash == std::string::npos || std::find(providers.begin(), providers.end(), provider) == providers.end()) {
        return config_failure(fmt::format("model: \"{}\" names no provider that chalk knows; expected {}/NAME, or set "
                                          "\"use_fake_model\": true and give \"fake_model\" a script",
                                          full_name, fmt::join(providers, "/NAME, ")));
    }
    api_choice choice{full_name, full_name.substr(slash + 1), args, nullptr};
    if (choice.name.empty() || !is_plain(choice.name) || (provider == "gemini" && !is_path_segment(choice.name))) {
        return config_failure(fmt::format("model: \"{}\" has no name of a model, or odd characters in it", full_name));
    }
    if (!args.is_object()) {
        return config_failure("model_args: expected an object");
    }
    for (const auto& [key, value] : args.items()) {
        if (const auto defect = defect_of(key, value); !defect.empty()) {
            return config_failure(fmt::format("model_args.{}: {}", key, defect));
        }
    }
    bool responses = provider == "openai_responses";
    if (const auto api = args.value("api", std::string()); !api.empty()) {
        if (provider == "anthropic" || provider == "gemini" || (api != "responses" && (api != "chat" || responses))) {
            return config_failure(fmt::format("model_args.api: {}/ has no API \"{}\"; openai/ and openai_compatible/ "
                                              "have \"chat\" and \"responses\"",
                                              provider, api));
        }
        responses = api == "responses";
    }
    choice.args.erase("api");
    if (provider == "anthropic") {
        choice.speaks = make_anthropic_dialect();
    } else if (provider == "gemini") {
        choice.speaks = make_gemini_dialect();
    } else if (responses) {
        choice.speaks = make_openai_responses_dialect();
    } else {
        choice.speaks = make_openai_dialect(provider == "openai" ? openai_flavour::openai : openai_flavour::compatible);
    }
    return choice;
}

} // namespace chalk::model
