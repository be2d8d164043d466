#include "protocol/model/sse.hpp"

#include <utility>

namespace chalk::model {

namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

} // namespace

bool sse_parser::feed(std::string_view data, const std::function<bool(sse_event&&)>& on_event) {
    while (!data.empty()) {
        if (std::exchange(after_cr_, false) && data.front() == '\n') {
            data.remove_prefix(1);
            continue;
        }
        const auto end = data.find_first_of("\r\n");
        const auto part = data.substr(0, end);
        if (part.size() > cap_ - used_) {
            too_long_ = true;
            return false;
        }
        used_ += part.size();
        line_ += part;
        if (end == std::string_view::npos) {
            break;
        }
        after_cr_ = data[end] == '\r';
        data.remove_prefix(end + 1);
        if (!end_line(on_event)) {
            return false;
        }
    }
    return true;
}

bool sse_parser::finish(const std::function<bool(sse_event&&)>& on_event) {
    return (line_.empty() || end_line(on_event)) && end_line(on_event);
}

bool sse_parser::end_line(const std::function<bool(sse_event&&)>& on_event) {
    std::string_view line = line_;
    if (std::exchange(first_line_, false) && line.starts_with(byte_order_mark)) {
        line.remove_prefix(byte_order_mark.size());
    }
    if (line.empty()) {
        line_.clear();
        used_ = 0;
        auto complete = std::exchange(open_, {});
        return !std::exchange(has_data_, false) || on_event(std::move(complete));
    }
    const auto colon = line.find(':');
    const auto field = line.substr(0, colon);
    auto value = colon == std::string_view::npos ? std::string_view{} : line.substr(colon + 1);
    if (value.starts_with(' ')) {
        value.remove_prefix(1);
    }
    if (field == "data") {
        if (std::exchange(has_data_, true)) {
            open_.data += '\n';
        }
        open_.data += value;
    } else if (field == "event") {
        open_.name = value;
    } else {
        used_ -= line_.size(); // a comment or a field that is not kept: a stream may send them for hours
    }
    line_.clear();
    return true;
}

} // namespace chalk::model
