#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"
#include "protocol/core/valijson.hpp"
#include "protocol/transcript/transcript.hpp"

#include <fmt/format.h>

#include <memory>

namespace chalk {

namespace {

constexpr bytes largest_transcript = 1_GiB;
constexpr std::size_t levels_around_a_value = 8; ///< document, events, event, tool_calls, call, ...

const valijson::Schema& compiled_schema() {
    static const auto compiled = [] {
        auto schema = std::make_unique<valijson::Schema>();
        const auto text = json::parse(transcript_schema());
        valijson::SchemaParser(valijson::SchemaParser::kDraft7)
            .populateSchema(valijson::adapters::NlohmannJsonAdapter(text), *schema);
        return schema;
    }();
    return *compiled;
}

std::string first_violation(const json& document) {
    valijson::Validator validator;
    valijson::ValidationResults results;
    const valijson::adapters::NlohmannJsonAdapter adapter(document);
    if (validator.validate(compiled_schema(), adapter, &results)) {
        return {};
    }
    valijson::ValidationResults::Error error;
    std::string where;
    results.popError(error);
    for (const auto& part : error.context) {
        where += part;
    }
    return fmt::format("{}: {}", where, error.description);
}

} // namespace

result<void> check_transcript(const json& document) {
    if (!document.is_object() || document.value("format", json()) != "chalk-transcript") {
        return config_failure("is no transcript: \"format\" is not \"chalk-transcript\"");
    }
    if (document.value("version", json()) != 1) {
        return config_failure("is of a version that this chalk does not know: \"version\" is not 1");
    }
    // The events' own parser says more of a broken event than a schema can.
    if (const auto events = document.find("events"); events != document.end() && events->is_array()) {
        for (std::size_t i = 0; i < events->size(); ++i) {
            if (auto parsed = event_from_json((*events)[i]); !parsed) {
                return config_failure(fmt::format("events[{}]: {}", i, parsed.error().message));
            }
        }
    }
    try {
        if (const auto wrong = first_violation(document); !wrong.empty()) {
            return config_failure(wrong);
        }
    } catch (const std::exception& error) {
        return config_failure(fmt::format("cannot be checked: {}", error.what()));
    }
    return {};
}

result<json> read_transcript(const std::filesystem::path& file) {
    auto text = read_file(file, largest_transcript);
    if (!text) {
        return text.error();
    }
    auto parsed = parse_json(*text, max_json_depth + levels_around_a_value);
    if (!parsed) {
        return config_failure(fmt::format("{}:{}: {}", file.string(), parsed.error().line, parsed.error().message));
    }
    if (auto checked = check_transcript(*parsed); !checked) {
        return config_failure(fmt::format("{}: {}", file.string(), checked.error().message));
    }
    return {boost::system::in_place_value, std::move(*parsed)};
}

} // namespace chalk
