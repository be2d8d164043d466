#include "runtimes/namespaces/owner.hpp"

#include "protocol/core/read_file.hpp"

#include <atomic>
#include <charconv>

#include <unistd.h>

namespace chalk::namespaces {

namespace {

/// Field 22 of /proc/<pid>/stat. The second field is the program's name in parentheses and may hold anything, so fields
/// are counted from its last parenthesis.
std::optional<std::string> start_time(std::string_view pid) {
    const std::string text = read_or_empty("/proc/" + std::string(pid) + "/stat");
    std::size_t at = text.rfind(')');
    if (at == std::string::npos) {
        return std::nullopt;
    }
    constexpr int fields_between = 20;
    for (int field = 0; field < fields_between; ++field) {
        at = text.find(' ', at + 1);
        if (at == std::string::npos) {
            return std::nullopt;
        }
    }
    return text.substr(at + 1, text.find(' ', at + 1) - at - 1);
}

bool is_number(std::string_view text) {
    return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

} // namespace

std::string make_owner_name() {
    static std::atomic<unsigned> count{0};
    const std::string pid = std::to_string(::getpid());
    std::string name = pid + "-" + start_time(pid).value_or("0");
    if (const unsigned nth = count++; nth > 0) {
        name += "-" + std::to_string(nth);
    }
    return name;
}

bool is_alive(std::string_view owner) {
    const std::size_t dash = owner.find('-');
    if (dash == std::string_view::npos) {
        return true;
    }
    const std::string_view pid = owner.substr(0, dash);
    std::string_view start = owner.substr(dash + 1);
    if (const std::size_t second = start.find('-'); second != std::string_view::npos) {
        if (!is_number(start.substr(second + 1))) {
            return true;
        }
        start = start.substr(0, second);
    }
    if (!is_number(pid) || !is_number(start)) {
        return true;
    }
    return start_time(pid) == std::string(start);
}

} // namespace chalk::namespaces
