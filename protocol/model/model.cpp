#include "protocol/model/model.hpp"

#include "protocol/model/fake_model.hpp"

#include <fmt/format.h>

namespace chalk::model {

std::string_view to_string(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::end:
        return "end";
    case stop_reason::tool_calls:
        return "tool_calls";
    case stop_reason::length:
        return "length";
    }
    return "end";
}

result<void> check_model(const model_settings& settings) {
    if (settings.use_fake) {
        auto parsed = parse_script(settings.script);
        return parsed ? result<void>() : result<void>(parsed.error());
    }
    if (settings.name.empty()) {
        return config_failure("model: no model is named; this version runs scripted models alone, so set "
                              "\"use_fake_model\": true and give \"fake_model\" a script");
    }
    return config_failure(fmt::format("model: \"{}\" needs a model client, and this version has none; set "
                                      "\"use_fake_model\": true and give \"fake_model\" a script",
                                      settings.name));
}

result<std::unique_ptr<model>> make_model(boost::asio::io_context& io, const model_settings& settings) {
    if (auto checked = check_model(settings); !checked) {
        return checked.error();
    }
    return make_fake_model(io, settings.script, settings.latency);
}

} // namespace chalk::model
