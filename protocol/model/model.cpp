#include "protocol/model/model.hpp"

#include "protocol/model/api_model.hpp"
#include "protocol/model/external_model.hpp"
#include "protocol/model/fake_model.hpp"

#include <stdexcept>

namespace chalk::model {

std::string_view to_string(stop_reason reason) noexcept {
    switch (reason) {
    case stop_reason::end:
        return "end";
    case stop_reason::tool_calls:
        return "tool_calls";
    case stop_reason::length:
        return "length";
    case stop_reason::paused:
        return "paused";
    case stop_reason::refusal:
        return "refusal";
    case stop_reason::context:
        return "context";
    }
    return "end";
}

void throw_exception_from_error(const turn_failure& failed, const boost::source_location&) {
    throw std::logic_error("value() of a failed turn: " + failed.why.message);
}

result<void> check_model(const model_settings& settings) {
    if (settings.use_fake) {
        auto parsed = parse_script(settings.script);
        return parsed ? result<void>() : result<void>(parsed.error());
    }
    return settings.external ? check_external_model(settings) : check_api_model(settings);
}

result<std::unique_ptr<model>> make_model(boost::asio::io_context& io, const model_settings& settings) {
    if (auto checked = check_model(settings); !checked) {
        return checked.error();
    }
    if (settings.use_fake) {
        return make_fake_model(io, settings.script, settings.latency);
    }
    return settings.external ? make_external_model(io, settings) : make_api_model(io, settings);
}

} // namespace chalk::model
