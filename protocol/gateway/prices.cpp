#include "protocol/gateway/prices.hpp"

#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <sstream>

#include <toml++/toml.h>

namespace chalk::gateway {

namespace {

constexpr bytes largest_file = 4_MiB;
constexpr double per_tokens = 1e6;

double cost(std::uint64_t tokens, double price) {
    return static_cast<double>(tokens) * price / per_tokens;
}

std::uint64_t less(std::uint64_t all, std::uint64_t part) {
    return all > part ? all - part : 0;
}

result<json> read_toml(const std::string& text, const std::string& name) {
    try {
        std::ostringstream out;
        out << toml::json_formatter(toml::parse(text, name));
        auto parsed = parse_json(out.str());
        if (parsed) {
            return {boost::system::in_place_value, std::move(*parsed)};
        }
        return config_failure(fmt::format("{}: {}", name, parsed.error().message));
    } catch (const toml::parse_error& why) {
        return config_failure(fmt::format("{}:{}: {}", name, why.source().begin.line, why.description()));
    }
}

result<json> read_document(const std::string& text, const std::filesystem::path& file) {
    if (file.extension() == ".toml") {
        return read_toml(text, file.string());
    }
    auto parsed = parse_json(text);
    if (!parsed) {
        return config_failure(fmt::format("{}:{}: {}", file.string(), parsed.error().line, parsed.error().message));
    }
    return {boost::system::in_place_value, std::move(*parsed)};
}

result<model_price> parse_price(const json& row, const std::string& where) {
    if (!row.is_object()) {
        return config_failure(fmt::format("{}: expected an object with \"input\" and \"output\"", where));
    }
    const auto number = [&](const char* key) { return row.find(key); };
    for (const auto& [key, value] : row.items()) {
        if (key != "input" && key != "cached" && key != "cache_write" && key != "output" && key != "reasoning") {
            return config_failure(fmt::format(
                "{}: unknown key \"{}\"; known: input, cached, cache_write, output, reasoning", where, key));
        }
        if (!value.is_number() || !std::isfinite(value.get<double>()) || value.get<double>() < 0) {
            return config_failure(fmt::format("{}.{}: expected US dollars per million tokens, 0 or more", where, key));
        }
    }
    if (number("input") == row.end() || number("output") == row.end()) {
        return config_failure(fmt::format("{}: \"input\" and \"output\" are both needed", where));
    }
    model_price price;
    price.input = row["input"].get<double>();
    price.output = row["output"].get<double>();
    price.cached = row.value("cached", price.input);
    price.cache_write = row.value("cache_write", price.input);
    price.reasoning = row.value("reasoning", price.output);
    return price;
}

} // namespace

double model_price::usd(const counted_tokens& count) const {
    const auto& t = count.tokens;
    return cost(less(less(t.input, t.cached), count.cache_write), input) + cost(t.cached, cached) +
           cost(count.cache_write, cache_write) + cost(less(t.output, t.reasoning), output) +
           cost(t.reasoning, reasoning);
}

result<price_table> price_table::load(const std::filesystem::path& file) {
    auto text = read_file(file, largest_file);
    if (!text) {
        return text.error();
    }
    auto document = read_document(*text, file);
    if (!document) {
        return document.error();
    }
    return parse(*document, file.string());
}

result<price_table> price_table::parse(const json& document, const std::string& name) {
    if (!document.is_object()) {
        return config_failure(fmt::format("{}: expected an object with a price for each model", name));
    }
    price_table table;
    for (const auto& [model, row] : document.items()) {
        auto price = parse_price(row, fmt::format("{}: {}", name, model));
        if (!price) {
            return price.error();
        }
        table.prices_.emplace(model, *price);
    }
    return table;
}

const model_price* price_table::find(const std::string& model) const {
    auto found = prices_.find(model);
    if (const auto slash = model.find('/'); found == prices_.end() && slash != std::string::npos) {
        found = prices_.find(model.substr(slash + 1));
    }
    return found == prices_.end() ? nullptr : &found->second;
}

} // namespace chalk::gateway
