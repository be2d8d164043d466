/// A JSON object that another chalk wrote, read strictly: each member is asked for by name, and one that is missing, of
/// another type or out of its bounds is refused with its path; so is one that nobody asked for.
///
/// Lives for one reading. What is wrong is kept, not returned: the first refusal stands, and after it nothing is read
/// any more, so that a reader of many fields asks once, at its end.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/core/result.hpp"
#include "protocol/core/units.hpp"

#include <concepts>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace chalk {

class strict_object {
  public:
    /// `path` is where `value` stands in its text, empty at the top; `wrong` gets "<path>: <cause>". Both `value` and
    /// `wrong` outlive it.
    strict_object(const json& value, std::string path, std::string& wrong);

    // All bounds are inclusive. A member that is refused leaves `to` as it was.

    void read(std::string_view name, bool& to);
    void read(std::string_view name, std::string& to, std::size_t most_bytes);
    /// Never NaN or infinite.
    void read(std::string_view name, double& to, double least, double most);
    void read(std::string_view name, milliseconds& to, milliseconds least, milliseconds most);
    template<std::unsigned_integral Number>
    void read(std::string_view name, Number& to, std::uint64_t least = 0,
              std::uint64_t most = std::numeric_limits<Number>::max()) {
        auto number = std::uint64_t{to};
        read_number(name, number, least, most);
        to = static_cast<Number>(number);
    }
    void read(std::string_view name, bytes& to) { read_number(name, to.count, 0, largest_size); }
    /// null is no value.
    template<class Value, class... Bounds>
    void read(std::string_view name, std::optional<Value>& to, const Bounds&... bounds) {
        if (const auto* value = find(name)) {
            Value some{};
            if (!value->is_null()) {
                read(name, some, bounds...);
            }
            to = value->is_null() ? std::nullopt : std::optional<Value>(std::move(some));
        }
    }
    /// `read(strict_object&)` reads the member's own members.
    template<class Read>
    void read_object(std::string_view name, Read read) {
        if (const auto* value = find(name)) {
            strict_object below(*value, path_of(name), *wrong_);
            read(below);
            below.finish();
        }
    }
    /// `each(strict_object&)` for every item, an object.
    template<class Each>
    void read_objects(std::string_view name, std::size_t most_items, Each each) {
        const auto* list = find_list(name, most_items);
        for (std::size_t i = 0; list != nullptr && i < list->size() && wrong_->empty(); ++i) {
            strict_object item((*list)[i], item_path(name, i), *wrong_);
            each(item);
            item.finish();
        }
    }
    /// Numbers, or null for none.
    void read_numbers(std::string_view name, std::vector<std::optional<double>>& to, std::size_t most_items,
                      double least, double most);

    /// The member as it is; null when it is missing or something was wrong before.
    [[nodiscard]] const json* find(std::string_view name);
    /// For rules that the types do not tell. `name` empty: the object itself.
    void refuse(std::string_view name, std::string_view cause);
    /// Nothing is read after it: what nobody has asked for is refused.
    void finish();

  private:
    /// What SQLite and std::streamoff can hold.
    static constexpr std::uint64_t largest_size = std::numeric_limits<std::int64_t>::max();

    void read_number(std::string_view name, std::uint64_t& to, std::uint64_t least, std::uint64_t most);
    [[nodiscard]] const json* find_list(std::string_view name, std::size_t most_items);
    [[nodiscard]] std::string path_of(std::string_view name) const;
    [[nodiscard]] std::string item_path(std::string_view name, std::size_t index) const;
    void take(const json& value, const std::string& path, double& to, double least, double most);

    const json* value_;
    std::string path_;
    std::string* wrong_;
    std::vector<std::string_view> asked_;
};

/// Reads all of `text`, one object, with `read(strict_object&)`. error_class::harness, since our own side wrote it:
/// "<what>: <path>: <cause>"; also when it is longer than `most` or nested too deep.
template<class Read>
[[nodiscard]] result<void> read_strictly(std::string_view text, bytes most, std::string_view what, Read read,
                                         std::size_t max_depth = max_json_depth) {
    if (text.size() > most.count) {
        return harness_failure(std::string(what) + ": longer than " + std::to_string(most.count) + " bytes");
    }
    const auto parsed = parse_json(text, max_depth);
    if (!parsed) {
        return harness_failure(std::string(what) + ": " + parsed.error().message);
    }
    std::string wrong;
    strict_object top(*parsed, {}, wrong);
    read(top);
    top.finish();
    if (!wrong.empty()) {
        return harness_failure(std::string(what) + ": " + wrong);
    }
    return {};
}

} // namespace chalk
