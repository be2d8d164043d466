#include "protocol/core/json_text.hpp"
#include "protocol/event/event.hpp"
#include "protocol/event/event_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace chalk {

namespace {

using event_wire::names;
using event_wire::shape;

/// Levels that an event may add around a value from outside (tool_calls, its call, its arguments, the event).
constexpr std::size_t max_event_depth = max_json_depth + 4;

std::string preview(const json& value) {
    auto text = dump_json(value);
    return text.size() <= 40 ? text : fmt::format("a long {}", value.type_name());
}

/// Reads the fields of one JSON object and keeps the first thing that is wrong with them. Moves out of the object.
class field_reader {
  public:
    field_reader(json& object, std::string place) : object_(object), place_(std::move(place)) {}

    template<class T>
    void operator()(const char* name, T& member) {
        read_field(name, member, true);
    }
    template<class T>
    void optional(const char* name, T& member) {
        read_field(name, member, false);
    }

    [[nodiscard]] const std::optional<std::string>& wrong() const noexcept { return wrong_; }

    /// Once every field is read: what is wrong, nullopt if nothing is.
    [[nodiscard]] std::optional<std::string> finish() {
        if (!wrong_ && seen_ != object_.size()) {
            for (const auto& [key, value] : object_.items()) {
                if (std::find(known_.begin(), known_.end(), key) == known_.end()) {
                    wrong_ = fmt::format("unknown field \"{}{}\"", place_, to_valid_utf8(key));
                    break;
                }
            }
        }
        return std::move(wrong_);
    }

  private:
    template<class T>
    void read_field(const char* name, T& member, bool required) {
        if (wrong_) {
            return;
        }
        known_.emplace_back(name);
        auto found = object_.find(name);
        if (found != object_.end()) {
            ++seen_;
            read(*found, member, name);
        } else if (required) {
            wrong_ = fmt::format("field \"{}{}\" is missing", place_, name);
        }
    }

    void expected(std::string_view what, std::string_view name, const json& value) {
        wrong_ = fmt::format("field \"{}{}\": expected {}, got {}", place_, name, what, preview(value));
    }

    void read(json& value, json& member, std::string_view) { member = std::move(value); }

    void read(json& value, std::string& member, std::string_view name) {
        if (!value.is_string()) {
            return expected("a string", name, value);
        }
        member = std::move(value.get_ref<std::string&>());
    }

    void read(json& value, bool& member, std::string_view name) {
        if (!value.is_boolean()) {
            return expected("true or false", name, value);
        }
        member = value.get<bool>();
    }

    void read(json& value, double& member, std::string_view name) {
        if (!value.is_number()) {
            return expected("a number", name, value);
        }
        member = value.get<double>();
    }

    void read(json& value, std::uint64_t& member, std::string_view name) {
        // A value that our own code made from a signed count is signed, whatever its value.
        const bool counts = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
        if (!counts) {
            return expected("a whole number of at least 0", name, value);
        }
        member = value.get<std::uint64_t>();
    }

    void read(json& value, milliseconds& member, std::string_view name) {
        std::uint64_t count = 0;
        read(value, count, name);
        if (!wrong_ && count > static_cast<std::uint64_t>(milliseconds::max().count())) {
            return expected("milliseconds below 2^63", name, value);
        }
        member = milliseconds(static_cast<milliseconds::rep>(count));
    }

    template<class Enum>
    requires std::is_enum_v<Enum>
    void read(json& value, Enum& member, std::string_view name) {
        constexpr auto& list = names<Enum>::list;
        if (value.is_string()) {
            const auto found = std::find(list.begin(), list.end(), value.get_ref<const std::string&>());
            if (found != list.end()) {
                member = static_cast<Enum>(found - list.begin());
                return;
            }
        }
        expected(fmt::format("one of {}", fmt::join(list, ", ")), name, value);
    }

    template<class T>
    void read(json& value, std::vector<T>& member, std::string_view name) {
        if (!value.is_array()) {
            return expected("a list", name, value);
        }
        member.clear();
        for (std::size_t i = 0; i < value.size() && !wrong_; ++i) {
            read(value[i], member.emplace_back(), fmt::format("{}[{}]", name, i));
        }
    }

    void read(json& value, std::optional<token_usage>& member, std::string_view name) {
        read(value, member.emplace(), name);
    }

    template<class T>
    requires(std::is_same_v<T, tool_call> || std::is_same_v<T, token_usage>) void read(json& value, T& member,
                                                                                       std::string_view name) {
        if (!value.is_object()) {
            return expected("an object", name, value);
        }
        field_reader nested(value, fmt::format("{}{}.", place_, name));
        shape<T>::fields(nested, member);
        wrong_ = nested.finish();
    }

    json& object_;
    std::string place_; ///< "" or "tool_calls[0]."
    std::size_t seen_ = 0;
    std::vector<std::string_view> known_;
    std::optional<std::string> wrong_;
};

/// The body whose name is `type`, default-constructed.
template<std::size_t I = 0>
std::optional<event_body> body_named(std::string_view type) {
    if constexpr (I == std::variant_size_v<event_body>) {
        return std::nullopt;
    } else {
        using body = std::variant_alternative_t<I, event_body>;
        return shape<body>::name == type ? std::optional<event_body>(body{}) : body_named<I + 1>(type);
    }
}

failure broken(std::string_view what) {
    return harness_failure(fmt::format("broken event: {}", what));
}

} // namespace

result<event> parse_event(std::string_view line) {
    auto parsed = parse_json(line, max_event_depth);
    if (!parsed) {
        return broken(fmt::format("column {}: {}", parsed.error().column, parsed.error().message));
    }
    return event_from_json(std::move(*parsed));
}

result<event> event_from_json(json object) {
    if (!object.is_object()) {
        return broken(fmt::format("expected an object, got {}", preview(object)));
    }

    field_reader reader(object, {});
    event e;
    std::string time;
    std::string type;
    reader("seq", e.seq);
    reader("time", time);
    reader("type", type);
    auto body = body_named(type);
    if (!body) {
        return broken(reader.wrong() ? *reader.wrong() : fmt::format("field \"type\": unknown type {}", preview(type)));
    }
    e.body = std::move(*body);
    std::visit([&](auto& b) { shape<std::decay_t<decltype(b)>>::fields(reader, b); }, e.body);
    if (auto wrong = reader.finish()) {
        return broken(fmt::format("{}: {}", type, *wrong));
    }
    auto at = parse_time(time);
    if (!at) {
        return broken(fmt::format("field \"time\": {}", at.error().message));
    }
    e.time = *at;
    return e;
}

} // namespace chalk
