/// The keys of one kind of file, looked at as a whole: what may stand where, as JSON Schema, as a page's table.
#pragma once

#include "config/run_config_keys.hpp"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::config {

class key_table {
  public:
    using default_of = std::function<json(const key_spec&)>;

    /// The keys must outlive the table. `value_of` gives a key's default; it is not asked for those that are required
    /// or have a shown_default.
    key_table(std::vector<const key_spec*> keys, default_of value_of);

    [[nodiscard]] const std::vector<const key_spec*>& keys() const noexcept { return keys_; }
    [[nodiscard]] const key_spec* find(std::string_view path) const;
    /// Groups: keys whose value is an object that has rows of its own ("limits").
    [[nodiscard]] bool is_group(std::string_view path) const;
    /// What may stand in a group ("" is the top): names without the group's.
    [[nodiscard]] std::vector<std::string> names_in(std::string_view group) const;
    /// Where else a name is a key: "max_turns" at the top was meant for "limits".
    [[nodiscard]] std::optional<std::string> elsewhere(std::string_view name) const;

    /// JSON Schema, draft 7.
    [[nodiscard]] json schema(std::string_view title) const;
    /// Rows: key, value, default, meaning.
    [[nodiscard]] std::string markdown() const;

  private:
    [[nodiscard]] json schema_of(const key_spec& spec) const;
    [[nodiscard]] std::string default_text(const key_spec& spec) const;

    std::vector<const key_spec*> keys_;
    default_of value_of_;
};

[[nodiscard]] const key_table& run_config_table();

} // namespace chalk::config
