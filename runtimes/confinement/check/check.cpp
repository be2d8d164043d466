#include "runtimes/confinement/check/check.hpp"

#include "runtimes/confinement/student_limits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>

namespace chalk::confinement::check {

namespace fs = std::filesystem;

namespace {

template<class Number>
std::optional<Number> number_in(std::string_view text) {
    Number value = 0;
    const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
    return parsed.ec == std::errc() && parsed.ptr == text.data() + text.size() ? std::optional(value) : std::nullopt;
}

/// Owners of all processes that show; and, by number, those of one.
std::vector<std::pair<pid_t, uid_t>> processes() {
    std::vector<std::pair<pid_t, uid_t>> found;
    std::error_code error;
    for (fs::directory_iterator at("/proc", error), end; !error && at != end; at.increment(error)) {
        struct stat about {};
        if (const auto pid = number_in<pid_t>(at->path().filename().string());
            pid && ::stat(at->path().c_str(), &about) == 0) {
            found.emplace_back(*pid, about.st_uid);
        }
    }
    return found;
}

} // namespace

std::string_view to_string(probe_result::verdict how) noexcept {
    switch (how) {
    case probe_result::verdict::pass:
        return "pass";
    case probe_result::verdict::fail:
        return "fail";
    case probe_result::verdict::skip:
        return "skip";
    }
    return "fail";
}

bool report::good() const noexcept {
    return left.empty() && std::none_of(probes.begin(), probes.end(),
                                        [](const probe_result& one) { return one.how == probe_result::verdict::fail; });
}

result<uid_t> find_unused_user() {
    std::set<uid_t> used;
    for (const auto& [pid, user] : processes()) {
        used.insert(user);
    }
    constexpr uid_t first = 61'000; // above what distributions give to people, below nobody
    constexpr uid_t last = 64'000;
    for (uid_t user = first; user < last; ++user) {
        if (!used.contains(user)) {
            return user;
        }
    }
    return harness_failure("every user id from 61000 to 63999 has processes");
}

result<settings> settings_from_environment() {
    settings how;
    const auto user = find_unused_user();
    if (!user) {
        return user.error();
    }
    how.user = *user;
    how.processes = 512; // cli/run/limits.cpp
    how.student_memory = student_memory(4_GiB);
    const auto variable = [](const char* name) {
        const char* text = std::getenv(name);
        return std::string_view(text == nullptr ? "" : text);
    };
    if (const auto text = variable("CHALK_SANDBOX_MEMORY_BYTES"); !text.empty()) {
        const auto size = number_in<std::uint64_t>(text);
        if (!size) {
            return config_failure(fmt::format("CHALK_SANDBOX_MEMORY_BYTES is \"{}\": expected a number", text));
        }
        how.student_memory = student_memory(bytes{*size});
    }
    const auto reach = firewall::parse_reach(variable("CHALK_STUDENT_NETWORK"));
    if (!reach) {
        return config_failure("CHALK_STUDENT_NETWORK: expected internal or local");
    }
    how.reach = *reach;
    auto numbers = variable("CHALK_STUDENT_CGROUP_PROCS");
    while (!numbers.empty()) {
        const auto end = std::min(numbers.find(','), numbers.size());
        const auto fd = number_in<int>(numbers.substr(0, end));
        if (fd && ::fcntl(*fd, F_GETFD) >= 0) { // whoever started us may have kept it
            how.cgroup_procs.push_back(*fd);
        }
        numbers.remove_prefix(std::min(numbers.size(), end + 1));
    }
    return how;
}

report run_probes(const settings& how) {
    report all;
    all.user = how.user;
    // The session last: it starts a thread, and the others fork.
    for (const auto probe : {probe_firewall, probe_limits, probe_disk, probe_session}) {
        auto some = probe(how, all.left);
        all.probes.insert(all.probes.end(), std::make_move_iterator(some.begin()), std::make_move_iterator(some.end()));
    }
    for (const auto& [pid, user] : processes()) {
        if (user == how.user) {
            all.left.push_back(fmt::format("process {} of user {}", pid, user));
        }
    }
    return all;
}

nlohmann::json to_json(const report& what) {
    nlohmann::json made = {
        {"user", what.user}, {"good", what.good()}, {"probes", nlohmann::json::array()}, {"leftovers", what.left}};
    for (const probe_result& one : what.probes) {
        made["probes"].push_back(
            {{"name", one.name}, {"expected", one.expected}, {"seen", one.seen}, {"result", to_string(one.how)}});
    }
    return made;
}

} // namespace chalk::confinement::check
