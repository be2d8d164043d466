#include "protocol/environment/line_splitter.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::environment {

bool line_splitter::feed(std::string_view data, const std::function<bool(std::string&&)>& on_line) {
    while (!data.empty()) {
        auto end = data.find('\n');
        if (!add(data.substr(0, end))) {
            return false;
        }
        if (end == std::string_view::npos) {
            break;
        }
        data.remove_prefix(end + 1);
        if (!on_line(take())) {
            return false;
        }
    }
    return true;
}

std::string line_splitter::take_rest() {
    return take();
}

bool line_splitter::add(std::string_view part) {
    auto room = cap_ - line_.size();
    if (part.size() > room) {
        if (policy_ == overflow::refuse) {
            return false;
        }
        omitted_ += part.size() - room;
        part = part.substr(0, room);
    }
    line_ += part;
    return true;
}

std::string line_splitter::take() {
    auto line = std::exchange(line_, {});
    if (auto omitted = std::exchange(omitted_, 0); omitted > 0) {
        line += fmt::format(" [{} bytes cut]", omitted);
    }
    return line;
}

} // namespace chalk::environment
