/// What models cost, out of a file that the user keeps: chalk ships no prices, since they change more often than it
/// does.
///
///     {"openai/gpt-5": {"input": 1.25, "cached": 0.125, "output": 10, "reasoning": 10}}
///
/// or the same as TOML, for a file whose name ends in .toml. US dollars per million tokens. `cached` and `cache_write`
/// are `input` where they are left out, `reasoning` is `output`.
#pragma once

#include "protocol/core/result.hpp"
#include "protocol/event/event.hpp"

#include <filesystem>
#include <map>
#include <optional>
#include <string>

namespace chalk::gateway {

/// Tokens of one answer. `input` counts all of them, also those that came from a cache (`cached`) or were put into one
/// (`cache_write`); `output` counts all, also `reasoning`.
struct counted_tokens {
    token_usage tokens;
    std::uint64_t cache_write = 0;
};

struct model_price {
    double input = 0;
    double cached = 0;
    double cache_write = 0;
    double output = 0;
    double reasoning = 0;

    [[nodiscard]] double usd(const counted_tokens& count) const;
};

class price_table {
  public:
    /// error_class::config with file, model, key and cause.
    [[nodiscard]] static result<price_table> load(const std::filesystem::path& file);
    /// `name` is the file's, for messages.
    [[nodiscard]] static result<price_table> parse(const json& document, const std::string& name);

    /// By its whole name ("openai/gpt-5"), or without the provider's. Null: no price is known.
    [[nodiscard]] const model_price* find(const std::string& model) const;

  private:
    std::map<std::string, model_price> prices_;
};

} // namespace chalk::gateway
