/// Valijson, always with exceptions: without them it aborts the process over a schema or a document that it cannot use.
/// Include it through this header alone, since the choice must be the same in every file of an executable.
#pragma once

#define VALIJSON_USE_EXCEPTIONS 1

#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
