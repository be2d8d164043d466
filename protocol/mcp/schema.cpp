#include "protocol/mcp/schema.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/valijson.hpp"
#include "protocol/mcp/param_headers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <list>
#include <mutex>
#include <string_view>
#include <unordered_map>

namespace chalk::mcp {
namespace {

constexpr std::size_t longest_name = 128;
constexpr std::size_t most_complaints = 3;
/// std::regex, which Valijson uses, recurses once a character: a longer text could overflow the stack.
constexpr std::size_t longest_matched_text = 4'096;
constexpr std::size_t most_kept_schemas = 256;

bool uses_regexes(const json& schema) {
    if (schema.is_object()) {
        for (const auto& [key, value] : schema.items()) {
            if (key == "pattern" || key == "patternProperties" || key == "format" || uses_regexes(value)) {
                return true;
            }
        }
    }
    return schema.is_array() && std::any_of(schema.begin(), schema.end(), uses_regexes);
}

std::size_t longest_text(const json& value) {
    std::size_t longest = value.is_string() ? value.get_ref<const std::string&>().size() : 0;
    if (value.is_object()) {
        for (const auto& [key, inner] : value.items()) {
            longest = std::max({longest, key.size(), longest_text(inner)});
        }
    } else if (value.is_array()) {
        for (const auto& inner : value) {
            longest = std::max(longest, longest_text(inner));
        }
    }
    return longest;
}

/// Valijson's `<root>`, `[a]`, `[0]` as `arguments.a[0]`.
std::string path_of(const std::vector<std::string>& context) {
    std::string path = "arguments";
    for (const auto& part : context) {
        if (part.size() < 2 || part.front() != '[') {
            continue; // the root
        }
        const auto name = part.substr(1, part.size() - 2);
        const bool index = name.find_first_not_of("0123456789") == std::string::npos;
        path += index ? part : "." + name;
    }
    return path;
}

class valijson_schema final : public compiled_schema {
  public:
    valijson_schema(std::string tool, const json& schema) : tool_(std::move(tool)), has_regexes_(uses_regexes(schema)) {
        valijson::SchemaParser parser(valijson::SchemaParser::kDraft7);
        parser.populateSchema(valijson::adapters::NlohmannJsonAdapter(schema), schema_);
    }

    [[nodiscard]] result<void> check(const json& arguments) const override {
        if (has_regexes_ && longest_text(arguments) > longest_matched_text) {
            return model_failure(fmt::format("the arguments of {} hold a text of more than {} bytes, which cannot be "
                                             "checked against the patterns in the tool's schema",
                                             tool_, longest_matched_text));
        }
        valijson::ValidationResults complaints;
        try {
            valijson::Validator validator;
            if (validator.validate(schema_, valijson::adapters::NlohmannJsonAdapter(arguments), &complaints)) {
                return {};
            }
        } catch (const std::exception& why) {
            return model_failure(fmt::format("the arguments of {} cannot be checked: {}", tool_, why.what()));
        }
        std::string message = fmt::format("the arguments do not fit the schema of {}:", tool_);
        std::size_t count = 0;
        for (const auto& complaint : complaints) {
            if (++count > most_complaints) {
                message += fmt::format("\n- and {} more", complaints.numErrors() - most_complaints);
                break;
            }
            message += fmt::format("\n- {}: {}", path_of(complaint.context), complaint.description);
        }
        return model_failure(std::move(message));
    }

  private:
    std::string tool_;
    bool has_regexes_;
    valijson::Schema schema_;
};

/// The schemas that were asked for last. A tool's is needed when the tool is registered, when it is offered and at each
/// call, and all runs of an environment have the same: compiling costs more than all else of a short run. Any thread.
class schema_cache {
  public:
    static schema_cache& of_process() {
        static schema_cache all;
        return all;
    }

    std::shared_ptr<const compiled_schema> find(std::string_view key) {
        const std::lock_guard lock(mutex_);
        const auto found = by_key_.find(key);
        if (found == by_key_.end()) {
            return nullptr;
        }
        kept_.splice(kept_.begin(), kept_, found->second);
        return found->second->schema;
    }

    void keep(std::string key, std::shared_ptr<const compiled_schema> schema) {
        const std::lock_guard lock(mutex_);
        if (by_key_.contains(key)) {
            return; // another thread was first
        }
        kept_.push_front({std::move(key), std::move(schema)});
        by_key_.emplace(kept_.front().key, kept_.begin());
        if (kept_.size() > most_kept_schemas) {
            by_key_.erase(kept_.back().key);
            kept_.pop_back();
        }
    }

  private:
    struct entry {
        std::string key;
        std::shared_ptr<const compiled_schema> schema;
    };
    std::mutex mutex_;
    std::list<entry> kept_; ///< the last one used first
    std::unordered_map<std::string_view, std::list<entry>::iterator> by_key_;
};

bool is_name_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
}

} // namespace

result<std::shared_ptr<const compiled_schema>> compiled_schema::compile(const tool_spec& tool) {
    if (!tool.input_schema.is_object() || tool.input_schema.value("type", json()) != "object") {
        return task_failure(
            fmt::format("tool {}: its input_schema must be an object with \"type\": \"object\"", tool.name));
    }
    try {
        std::string key = tool.name + '\n' + dump_json(tool.input_schema);
        if (auto known = schema_cache::of_process().find(key)) {
            return known;
        }
        std::shared_ptr<const compiled_schema> made =
            std::make_shared<const valijson_schema>(tool.name, tool.input_schema);
        schema_cache::of_process().keep(std::move(key), made);
        return made;
    } catch (const std::exception& why) {
        return task_failure(fmt::format("tool {}: its input_schema is not valid: {}", tool.name, why.what()));
    }
}

result<void> check_tool(const tool_spec& tool) {
    if (tool.name.empty() || tool.name.size() > longest_name ||
        !std::all_of(tool.name.begin(), tool.name.end(), is_name_character)) {
        return task_failure(
            fmt::format("tool '{}': a name is 1 to {} of letters, digits, '_', '-' and '.'", tool.name, longest_name));
    }
    if (const auto compiled = compiled_schema::compile(tool); !compiled) {
        return compiled.error();
    }
    if (const auto mirrored = find_mirrored(tool.input_schema); !mirrored) {
        return task_failure(fmt::format("tool {}: {}", tool.name, mirrored.error().message));
    }
    return {};
}

result<void> validate_arguments(const tool_spec& tool, const json& arguments) {
    const auto compiled = compiled_schema::compile(tool);
    if (!compiled) {
        return compiled.error();
    }
    return (*compiled)->check(arguments);
}

} // namespace chalk::mcp
