#include "runtimes/namespaces/cgroup_hierarchies.hpp"

#include <algorithm>
#include <sstream>
#include <string>
#include <utility>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, separator);) {
        parts.push_back(part);
    }
    return parts;
}

} // namespace

std::vector<cgroup_candidates> find_hierarchies(std::string_view own_groups, std::string_view mounts) {
    std::vector<cgroup_candidates> found;
    for (const std::string& line : split(std::string(mounts), '\n')) {
        // 36 35 98:0 /root /mount/point options ... - type source super,options (proc_pid_mountinfo(5))
        const auto fields = split(line, ' ');
        const auto dash = std::find(fields.begin(), fields.end(), "-");
        if (fields.size() < 5 || fields.end() - dash < 4) {
            continue;
        }
        const std::string& type = dash[1];
        const auto options = split(dash[3], ',');
        const auto has = [&](const char* name) {
            return std::find(options.begin(), options.end(), name) != options.end();
        };
        cgroup_candidates one;
        one.v2 = type == "cgroup2";
        one.memory = type == "cgroup" && has("memory");
        one.pids = type == "cgroup" && has("pids");
        if (!one.v2 && !one.memory && !one.pids) {
            continue;
        }
        const fs::path mount = fields[4];
        for (const std::string& group : split(std::string(own_groups), '\n')) {
            // 4:memory:/path, or 0::/path
            const std::size_t first = group.find(':');
            const std::size_t second = first == std::string::npos ? first : group.find(':', first + 1);
            if (second == std::string::npos) {
                continue;
            }
            const auto controllers = split(group.substr(first + 1, second - first - 1), ',');
            const auto is = [&](const char* name) {
                return std::find(controllers.begin(), controllers.end(), name) != controllers.end();
            };
            if (one.v2 ? !controllers.empty() : !((one.memory && is("memory")) || (one.pids && is("pids")))) {
                continue;
            }
            for (fs::path at = fs::path(group.substr(second + 1)).relative_path();; at = at.parent_path()) {
                one.bases.push_back(at.empty() ? mount : mount / at);
                if (at.empty()) {
                    break;
                }
            }
            break;
        }
        found.push_back(std::move(one));
    }
    return found;
}

} // namespace chalk::namespaces
