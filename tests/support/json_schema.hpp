/// Holds a document against a JSON Schema (draft 7) with Valijson.
#pragma once

#include "protocol/core/valijson.hpp"

#include <nlohmann/json.hpp>

#include <string>

namespace chalk::test {

/// The first thing in `document` that breaks `schema`, with its place; empty if nothing does.
inline std::string schema_violation(const nlohmann::json& schema, const nlohmann::json& document) {
    valijson::Schema parsed;
    valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
    parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), parsed);
    valijson::Validator validator;
    valijson::ValidationResults found;
    if (validator.validate(parsed, valijson::adapters::NlohmannJsonAdapter(document), &found)) {
        return {};
    }
    std::string text;
    valijson::ValidationResults::Error error;
    while (found.popError(error)) { // the innermost error comes first; one line each
        for (const auto& part : error.context) {
            text += part;
        }
        text += ": " + error.description + "\n";
    }
    return text.empty() ? "broken, without a reason" : text;
}

} // namespace chalk::test
