#include "config/json_document.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace chalk::config {

namespace {

/// Hands the text to the parser and counts lines as it goes. The parser copies its iterators, so the count is outside.
class counting_iterator {
  public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    counting_iterator(const char* at, std::size_t* line) : at_(at), line_(line) {}
    reference operator*() const { return *at_; }
    counting_iterator& operator++() {
        *line_ += *at_ == '\n' ? 1 : 0;
        ++at_;
        return *this;
    }
    counting_iterator operator++(int) {
        auto before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.at_ == b.at_; }

  private:
    const char* at_;
    std::size_t* line_;
};

/// Builds the document from nlohmann's SAX events (json_sax.hpp names the member functions).
class document_builder {
  public:
    document_builder(json_document& document, const std::size_t& line) : document_(document), line_(line) {}

    [[nodiscard]] const std::string& why() const noexcept { return why_; }

    bool null() { return add(nullptr); }
    bool boolean(bool value) { return add(value); }
    bool number_integer(json::number_integer_t value) { return add(value); }
    bool number_unsigned(json::number_unsigned_t value) { return add(value); }
    bool number_float(json::number_float_t value, const std::string&) { return add(value); }
    bool string(std::string& value) { return add(std::move(value)); }
    bool binary(json::binary_t&) { return refuse(path(), "binary data"); } // no text holds any

    bool start_object(std::size_t) { return open(json::object()); }
    bool end_object() { return close(); }
    bool start_array(std::size_t) { return open(json::array()); }
    bool end_array() { return close(); }

    bool key(std::string& name) {
        auto& object = open_.back();
        const auto place = join_path(object.path, name);
        if (object.value->contains(name)) {
            return refuse(place,
                          fmt::format("the key is there twice (first on line {})", document_.places[place].line));
        }
        mark(place);
        object.key = std::move(name);
        return true;
    }

    bool parse_error(std::size_t, const std::string&, const json::exception& error) {
        // "[json.exception.x.101] parse error at line 1, column 2: cause": we have a better line and the path.
        const std::string_view text = error.what();
        auto from = text.find("column ");
        from = text.find(": ", from == std::string_view::npos ? 0 : from);
        return refuse(path(), from == std::string_view::npos ? text : text.substr(from + 2));
    }

  private:
    struct container {
        json* value;
        std::string path;
        std::string key; ///< of an object: whose value comes next
    };

    /// Of the value that comes next.
    [[nodiscard]] std::string path() const {
        if (open_.empty()) {
            return {};
        }
        const auto& last = open_.back();
        return last.value->is_array() ? join_path(last.path, last.value->size())
               : last.key.empty()     ? last.path
                                      : join_path(last.path, last.key);
    }

    void mark(const std::string& path) { document_.places[path] = {line_, document_.places.size()}; }

    json* place(json value) {
        if (open_.empty()) {
            document_.value = std::move(value);
            return &document_.value;
        }
        auto& last = open_.back();
        if (last.value->is_array()) {
            if (value.is_structured()) { // a long list of numbers needs no map of its lines
                mark(join_path(last.path, last.value->size()));
            }
            return &last.value->emplace_back(std::move(value));
        }
        auto& member = (*last.value)[last.key];
        member = std::move(value);
        last.key.clear();
        return &member;
    }

    bool add(json value) {
        place(std::move(value));
        return true;
    }

    bool open(json value) {
        auto where = path();
        if (open_.size() == max_json_depth) {
            return refuse(where, fmt::format("nested more than {} levels deep", max_json_depth));
        }
        open_.push_back({place(std::move(value)), std::move(where), {}});
        return true;
    }

    bool close() {
        open_.pop_back();
        return true;
    }

    bool refuse(const std::string& where, std::string_view cause) {
        why_ = where.empty() ? fmt::format("{}:{}: {}", document_.name, line_, cause)
                             : fmt::format("{}:{}: {}: {}", document_.name, line_, where, cause);
        return false;
    }

    json_document& document_;
    const std::size_t& line_;
    std::vector<container> open_;
    std::string why_;
};

} // namespace

std::string join_path(std::string_view base, std::string_view key) {
    const bool plain = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
        return static_cast<unsigned char>(c) > 0x20 && c != '.' && c != '[' && c != ']' && c != '"';
    });
    const auto shown = plain ? std::string(key) : dump_json(json(std::string(key)));
    return base.empty() ? shown : fmt::format("{}.{}", base, shown);
}

std::string join_path(std::string_view base, std::size_t index) {
    return fmt::format("{}[{}]", base, index);
}

std::string json_document::place_of(const std::string& path) const {
    for (auto known = full_path(path); !known.empty(); known.erase(std::min(known.find_last_of(".["), known.size()))) {
        if (const auto found = places.find(known); found != places.end()) {
            return fmt::format("{}:{}", name, found->second.line);
        }
        if (known.find_last_of(".[") == std::string::npos) {
            break;
        }
    }
    return name;
}

std::string json_document::full_path(const std::string& path) const {
    if (root.empty() || path.empty()) {
        return root + path;
    }
    return path.front() == '[' ? root + path : fmt::format("{}.{}", root, path);
}

failure json_document::at(const std::string& path, std::string_view cause) const {
    const auto shown = full_path(path);
    return config_failure(shown.empty() ? fmt::format("{}: {}", name, cause)
                                        : fmt::format("{}: {}: {}", place_of(path), shown, cause));
}

std::vector<std::string> json_document::names_at(const json& object, const std::string& path) const {
    std::vector<std::pair<std::size_t, std::string>> found;
    for (const auto& [key, unused] : object.items()) {
        const auto place = places.find(full_path(join_path(path, key)));
        found.emplace_back(place == places.end() ? 0 : place->second.order, key);
    }
    std::sort(found.begin(), found.end());
    std::vector<std::string> names;
    for (auto& [order, key] : found) {
        names.push_back(std::move(key));
    }
    return names;
}

json_document json_document::part(const std::string& key) const {
    return {name, value.value(key, json()), places, full_path(join_path("", key))};
}

result<json_document> read_json_document(std::string_view text, std::string name) {
    json_document document;
    document.name = std::move(name);
    std::size_t line = 1;
    document_builder builder(document, line);
    const counting_iterator first(text.data(), &line);
    const counting_iterator last(text.data() + text.size(), &line);
    if (!json::sax_parse(first, last, &builder)) {
        return config_failure(builder.why());
    }
    return document;
}

} // namespace chalk::config
