// to_json builds a value, to_line writes text without building one: a run's every event passes through to_line.

#include "protocol/core/json_text.hpp"
#include "protocol/event/event.hpp"
#include "protocol/event/event_shape.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace chalk {

namespace {

using event_wire::name_of;
using event_wire::shape;

template<class T>
bool is_default(const T& value) {
    if constexpr (requires { value.empty(); }) {
        return value.empty();
    } else if constexpr (requires { value.has_value(); }) {
        return !value.has_value();
    } else {
        return value == T{};
    }
}

class value_writer {
  public:
    explicit value_writer(json& object) : object_(object) {}

    template<class T>
    void operator()(const char* name, const T& value) {
        object_.emplace(name, convert(value));
    }
    template<class T>
    void optional(const char* name, const T& value) {
        if (!is_default(value)) {
            (*this)(name, value);
        }
    }

  private:
    template<class T>
    static json convert(const T& value) {
        if constexpr (std::is_enum_v<T>) {
            return name_of(value);
        } else if constexpr (std::is_same_v<T, std::string>) {
            return to_valid_utf8(value);
        } else if constexpr (std::is_same_v<T, milliseconds>) {
            return value.count();
        } else if constexpr (std::is_same_v<T, std::optional<token_usage>>) {
            return value ? convert(*value) : json();
        } else if constexpr (std::is_same_v<T, tool_call> || std::is_same_v<T, token_usage>) {
            json object = json::object();
            value_writer nested(object);
            shape<T>::fields(nested, value);
            return object;
        } else if constexpr (std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, std::vector<tool_call>>) {
            json list = json::array();
            for (const auto& item : value) {
                list.push_back(convert(item));
            }
            return list;
        } else {
            return value;
        }
    }

    json& object_;
};

class line_writer {
  public:
    explicit line_writer(std::string& out) : out_(out) {}

    template<class T>
    void operator()(std::string_view name, const T& value) {
        out_ += out_.back() == '{' ? "\"" : ",\"";
        out_ += name; // field names need no escaping
        out_ += "\":";
        write(value);
    }
    template<class T>
    void optional(std::string_view name, const T& value) {
        if (!is_default(value)) {
            (*this)(name, value);
        }
    }

  private:
    void write(const std::string& text) {
        const auto plain = [](char c) { return c >= 0x20 && c < 0x7f && c != '"' && c != '\\'; };
        if (std::all_of(text.begin(), text.end(), plain)) {
            out_ += '"';
            out_ += text;
            out_ += '"';
        } else {
            out_ += dump_json(json(text));
        }
    }
    void write(const json& value) { out_ += dump_json(value); }
    void write(bool value) { out_ += value ? "true" : "false"; }
    void write(double value) { out_ += json(value).dump(); }
    void write(std::uint64_t value) { fmt::format_to(std::back_inserter(out_), "{}", value); }
    void write(milliseconds value) { fmt::format_to(std::back_inserter(out_), "{}", value.count()); }
    void write(const std::optional<token_usage>& value) {
        if (value) {
            write(*value);
        } else {
            out_ += "null";
        }
    }

    template<class T>
    void write(const std::vector<T>& list) {
        out_ += '[';
        for (std::size_t i = 0; i < list.size(); ++i) {
            if (i > 0) {
                out_ += ',';
            }
            write(list[i]);
        }
        out_ += ']';
    }

    template<class T>
    requires std::is_enum_v<T>
    void write(T value) {
        out_ += '"';
        out_ += name_of(value);
        out_ += '"';
    }

    template<class T>
    requires(std::is_same_v<T, tool_call> || std::is_same_v<T, token_usage>) void write(const T& part) {
        out_ += '{';
        shape<T>::fields(*this, part);
        out_ += '}';
    }

    std::string& out_;
};

} // namespace

json to_json(const event& e) {
    json object = json::object();
    object["seq"] = e.seq;
    object["time"] = format_time(e.time);
    object["type"] = type_name(e.body);
    value_writer writer(object);
    std::visit([&](const auto& body) { shape<std::decay_t<decltype(body)>>::fields(writer, body); }, e.body);
    return object;
}

std::string to_line(const event& e) {
    std::string line =
        fmt::format(R"({{"seq":{},"time":"{}","type":"{}")", e.seq, format_time(e.time), type_name(e.body));
    line_writer writer(line);
    std::visit([&](const auto& body) { shape<std::decay_t<decltype(body)>>::fields(writer, body); }, e.body);
    line += '}';
    return line;
}

} // namespace chalk
