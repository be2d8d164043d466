#include "config/toml_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>

#include <toml++/toml.h>

namespace chalk::config {

namespace {

/// The line of a dotted key of more parts than a value may be nested deep; 0 where there is none. toml++ 3.3 bounds the
/// nesting of brackets but not this one, and overflows the stack.
class key_scan {
  public:
    explicit key_scan(std::string_view text) : text_(text) {}

    std::size_t overlong() {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == '"' || c == '\'') {
                skip_string(c);
            } else if (c == '.') {
                if (++dots_ >= max_json_depth) {
                    return line_;
                }
                ++at_;
            } else {
                dots_ = c == '=' || c == '[' || c == ']' || c == ',' || c == '{' || c == '\n' ? 0 : dots_;
                line_ += c == '\n' ? 1 : 0;
                ++at_;
            }
        }
        return 0;
    }

  private:
    void skip_string(char quote) {
        const std::string three(3, quote);
        const bool long_one = text_.substr(at_, three.size()) == three;
        at_ += long_one ? three.size() : 1;
        while (at_ < text_.size()) {
            if (long_one ? text_.substr(at_, three.size()) == three : text_[at_] == quote || text_[at_] == '\n') {
                break;
            }
            const bool escaped = quote == '"' && text_[at_] == '\\' && text_.substr(at_ + 1, 1) != "\n";
            line_ += text_[at_] == '\n' ? 1 : 0;
            at_ = std::min(at_ + (escaped ? 2 : 1), text_.size());
        }
        if (!long_one) {
            at_ += text_.substr(at_, 1) == std::string_view(&quote, 1) ? 1 : 0;
            return;
        }
        const auto closed = std::min(at_ + three.size(), text_.size());
        for (at_ = closed; at_ < text_.size() && at_ < closed + 2 && text_[at_] == quote; ++at_) {
            // Up to two quotes may stand before the closing three.
        }
    }

    std::string_view text_;
    std::size_t at_ = 0;
    std::size_t line_ = 1;
    std::size_t dots_ = 0;
};

/// Copies toml++'s tree into the document and keeps the first thing that is wrong.
class toml_builder {
  public:
    explicit toml_builder(json_document& document) : document_(document) {}

    json value(const toml::node& node, const std::string& path, std::size_t depth) {
        if (depth > max_json_depth) {
            return refuse(node, path, fmt::format("nested more than {} levels deep", max_json_depth));
        }
        if (const auto* table = node.as_table()) {
            json out = json::object();
            for (const auto& [key, below] : *table) {
                const auto name = join_path(path, key.str());
                mark(name, key.source());
                out[std::string(key.str())] = value(below, name, depth + 1);
            }
            return out;
        }
        if (const auto* list = node.as_array()) {
            json out = json::array();
            for (const auto& below : *list) {
                const auto name = join_path(path, out.size());
                mark(name, below.source());
                out.push_back(value(below, name, depth + 1));
            }
            return out;
        }
        return scalar(node, path);
    }

    [[nodiscard]] const std::optional<failure>& why() const noexcept { return why_; }

  private:
    json scalar(const toml::node& node, const std::string& path) {
        if (const auto* text = node.as_string()) {
            return text->get();
        }
        if (const auto* number = node.as_integer()) {
            // As the JSON reader has it: unsigned where it can be.
            return number->get() < 0 ? json(number->get()) : json(static_cast<std::uint64_t>(number->get()));
        }
        if (const auto* number = node.as_floating_point()) {
            return std::isfinite(number->get()) ? json(number->get())
                                                : refuse(node, path, "inf and nan are no values here");
        }
        if (const auto* flag = node.as_boolean()) {
            return flag->get();
        }
        return refuse(node, path, "a date or time is no value here: write it as a string");
    }

    void mark(const std::string& path, const toml::source_region& where) {
        constexpr unsigned column_bits = 24; // a file is shorter than that
        document_.places[path] = {where.begin.line,
                                  (std::size_t{where.begin.line} << column_bits) | where.begin.column};
    }

    json refuse(const toml::node& node, const std::string& path, std::string_view cause) {
        if (!why_) {
            why_ = config_failure(fmt::format("{}:{}: {}: {}", document_.name, node.source().begin.line, path, cause));
        }
        return nullptr;
    }

    json_document& document_;
    std::optional<failure> why_;
};

} // namespace

result<json_document> read_toml_document(std::string_view text, std::string name) {
    json_document document{std::move(name), {}};
    if (const auto line = key_scan(text).overlong(); line != 0) {
        return config_failure(
            fmt::format("{}:{}: nested more than {} levels deep", document.name, line, max_json_depth));
    }
    try {
        const auto table = toml::parse(text, document.name);
        toml_builder build(document);
        document.value = build.value(table, "", 1);
        if (build.why()) {
            return *build.why();
        }
        return document;
    } catch (const toml::parse_error& error) {
        return config_failure(fmt::format("{}:{}: {}", document.name, error.source().begin.line, error.description()));
    }
}

} // namespace chalk::config
