#include "runtimes/confinement/captured_output.hpp"

#include "protocol/core/json_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::confinement {
namespace {

bool is_continuation(char c) {
    return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// `text` without a UTF-8 sequence that its end cuts off.
std::string_view without_broken_end(std::string_view text) {
    std::size_t back = 0;
    while (back < 3 && back < text.size() && is_continuation(text[text.size() - 1 - back])) {
        ++back;
    }
    if (back == text.size()) {
        return text;
    }
    const auto lead = static_cast<unsigned char>(text[text.size() - 1 - back]);
    const std::size_t needed = lead >= 0xF0U ? 3 : lead >= 0xE0U ? 2 : lead >= 0xC0U ? 1 : 0;
    return back < needed ? text.substr(0, text.size() - 1 - back) : text;
}

} // namespace

captured_output::captured_output(bytes cap)
    : head_cap_(static_cast<std::size_t>(cap.count / 2)), tail_cap_(static_cast<std::size_t>(cap.count) - head_cap_) {}

void captured_output::append(std::string_view part) {
    total_ += part.size();
    const auto to_head = std::min(part.size(), head_cap_ - head_.size());
    head_.append(part.substr(0, to_head));
    part.remove_prefix(to_head);
    if (part.size() >= tail_cap_) {
        tail_.assign(part.substr(part.size() - tail_cap_));
        tail_start_ = 0;
        return;
    }
    const auto room = std::min(part.size(), tail_cap_ - tail_.size());
    tail_.append(part.substr(0, room));
    part.remove_prefix(room);
    for (const char c : part) {
        tail_[tail_start_] = c;
        tail_start_ = (tail_start_ + 1) % tail_cap_;
    }
}

captured_output::cut captured_output::parts() const {
    cut out{head_, tail_.substr(tail_start_) + tail_.substr(0, tail_start_)};
    if (total_ > head_.size() + tail_.size()) {
        out.head = without_broken_end(out.head);
        std::size_t skip = 0;
        while (skip < 3 && skip < out.tail.size() && is_continuation(out.tail[skip])) {
            ++skip;
        }
        out.tail.erase(0, skip);
    }
    return out;
}

std::uint64_t captured_output::omitted() const {
    const auto kept = parts();
    return total_ - kept.head.size() - kept.tail.size();
}

std::string captured_output::text() const {
    auto kept = parts();
    const auto missing = total_ - kept.head.size() - kept.tail.size();
    if (missing == 0) {
        return to_valid_utf8(std::string(kept.head) + kept.tail);
    }
    return to_valid_utf8(fmt::format("{}\n[... {} bytes left out ...]\n{}", kept.head, missing, kept.tail));
}

} // namespace chalk::confinement
