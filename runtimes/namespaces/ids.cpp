#include "runtimes/namespaces/ids.hpp"

#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include <pwd.h>
#include <unistd.h>

namespace chalk::namespaces {

namespace {

constexpr std::uint32_t whole_id_space = 65'536;

std::optional<std::uint32_t> number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (;;) {
        const std::size_t end = text.find(separator);
        parts.push_back(text.substr(0, end));
        if (end == std::string_view::npos) {
            return parts;
        }
        text.remove_prefix(end + 1);
    }
}

std::string user_name(uid_t uid) {
    passwd entry{};
    passwd* found = nullptr;
    char buffer[4096];
    return ::getpwuid_r(uid, &entry, buffer, sizeof buffer, &found) == 0 && found != nullptr ? entry.pw_name
                                                                                             : std::to_string(uid);
}

} // namespace

result<id_range> find_range(std::string_view table, std::string_view name, uid_t uid, const std::string& file) {
    for (const std::string_view line : split(table, '\n')) {
        const auto parts = split(line, ':');
        if (parts.size() != 3 || (parts[0] != name && parts[0] != std::to_string(uid))) {
            continue;
        }
        const auto first = number(parts[1]);
        const auto count = number(parts[2]);
        if (first && count && *count >= whole_id_space) {
            return id_range{*first, whole_id_space};
        }
    }
    return sandbox_failure(fmt::format("{} gives {} no range of {} ids; add one as root: echo {}:100000:{} >> {}", file,
                                       name, whole_id_space, name, whole_id_space, file));
}

result<id_range> choose_range() {
    const uid_t uid = ::geteuid();
    const std::string name = user_name(uid);
    const auto users = find_range(read_or_empty("/etc/subuid"), name, uid, "/etc/subuid");
    const auto groups = find_range(read_or_empty("/etc/subgid"), name, uid, "/etc/subgid");
    if (users && groups && *users == *groups) {
        return *users;
    }
    if (uid == 0) {
        return id_range{};
    }
    if (!users) {
        return users.error();
    }
    if (!groups) {
        return groups.error();
    }
    return sandbox_failure(
        fmt::format("/etc/subuid and /etc/subgid give {} different ranges ({} and {}); make them the "
                    "same",
                    name, users->first, groups->first));
}

} // namespace chalk::namespaces
