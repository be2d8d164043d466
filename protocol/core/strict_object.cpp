#include "protocol/core/strict_object.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace chalk {

strict_object::strict_object(const json& value, std::string path, std::string& wrong)
    : value_(&value), path_(std::move(path)), wrong_(&wrong) {
    if (!value_->is_object()) {
        refuse({}, "expected an object");
    }
}

void strict_object::read(std::string_view name, bool& to) {
    if (const auto* value = find(name)) {
        if (!value->is_boolean()) {
            return refuse(name, "expected true or false");
        }
        to = value->get<bool>();
    }
}

void strict_object::read(std::string_view name, std::string& to, std::size_t most_bytes) {
    if (const auto* value = find(name)) {
        if (!value->is_string() || value->get_ref<const std::string&>().size() > most_bytes) {
            return refuse(name, fmt::format("expected a string of at most {} bytes", most_bytes));
        }
        to = value->get_ref<const std::string&>();
    }
}

void strict_object::read(std::string_view name, double& to, double least, double most) {
    if (const auto* value = find(name)) {
        take(*value, path_of(name), to, least, most);
    }
}

void strict_object::read(std::string_view name, milliseconds& to, milliseconds least, milliseconds most) {
    if (const auto* value = find(name)) {
        // Of those that are not negative some are beyond a signed number's reach.
        const bool fits =
            value->is_number_unsigned() ? value->get<std::uint64_t>() <= largest_size : value->is_number_integer();
        if (!fits || value->get<std::int64_t>() < least.count() || value->get<std::int64_t>() > most.count()) {
            return refuse(name, fmt::format("expected a whole number from {} to {}", least.count(), most.count()));
        }
        to = milliseconds(value->get<std::int64_t>());
    }
}

void strict_object::read_numbers(std::string_view name, std::vector<std::optional<double>>& to, std::size_t most_items,
                                 double least, double most) {
    const auto* list = find_list(name, most_items);
    if (list == nullptr) {
        return;
    }
    std::vector<std::optional<double>> read;
    read.reserve(list->size());
    for (const auto& item : *list) {
        auto& one = read.emplace_back();
        if (!item.is_null()) {
            take(item, item_path(name, read.size() - 1), one.emplace(), least, most);
        }
    }
    if (wrong_->empty()) {
        to = std::move(read);
    }
}

const json* strict_object::find(std::string_view name) {
    if (!wrong_->empty()) {
        return nullptr;
    }
    if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
        asked_.push_back(name);
    }
    const auto found = value_->find(name);
    if (found == value_->end()) {
        refuse(name, "is missing");
        return nullptr;
    }
    return &*found;
}

void strict_object::refuse(std::string_view name, std::string_view cause) {
    if (wrong_->empty()) {
        const auto path = path_of(name);
        *wrong_ = path.empty() ? std::string(cause) : fmt::format("{}: {}", path, cause);
    }
}

void strict_object::finish() {
    if (!wrong_->empty() || asked_.size() == value_->size()) {
        return;
    }
    for (const auto& [name, ignored] : value_->items()) {
        if (std::find(asked_.begin(), asked_.end(), name) == asked_.end()) {
            constexpr std::size_t longest = 60; // whoever wrote it chose the name
            return refuse(to_valid_utf8(name.substr(0, longest)), "unknown key");
        }
    }
}

void strict_object::read_number(std::string_view name, std::uint64_t& to, std::uint64_t least, std::uint64_t most) {
    if (const auto* value = find(name)) {
        if (!value->is_number_unsigned() || value->get<std::uint64_t>() < least || value->get<std::uint64_t>() > most) {
            return refuse(name, fmt::format("expected a whole number from {} to {}", least, most));
        }
        to = value->get<std::uint64_t>();
    }
}

const json* strict_object::find_list(std::string_view name, std::size_t most_items) {
    const auto* value = find(name);
    if (value != nullptr && (!value->is_array() || value->size() > most_items)) {
        refuse(name, fmt::format("expected a list of at most {}", most_items));
        return nullptr;
    }
    return value;
}

std::string strict_object::path_of(std::string_view name) const {
    return path_.empty() || name.empty() ? path_ + std::string(name) : fmt::format("{}.{}", path_, name);
}

std::string strict_object::item_path(std::string_view name, std::size_t index) const {
    return fmt::format("{}[{}]", path_of(name), index);
}

void strict_object::take(const json& value, const std::string& path, double& to, double least, double most) {
    const double number = value.is_number() ? value.get<double>() : std::numeric_limits<double>::quiet_NaN();
    if (!std::isfinite(number) || number < least || number > most) {
        if (wrong_->empty()) {
            *wrong_ = fmt::format("{}: expected a number from {} to {}", path, least, most);
        }
        return;
    }
    to = number;
}

} // namespace chalk
