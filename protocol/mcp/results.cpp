#include "protocol/mcp/results.hpp"

#include "protocol/mcp/stateless.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace chalk::mcp {
namespace {

constexpr std::array<std::string_view, 8> log_severities = {"debug", "info",     "notice", "warning",
                                                            "error", "critical", "alert",  "emergency"};

} // namespace

json server_info() {
    return {{"name", "chalk"}, {"version", CHALK_VERSION}};
}

json capabilities() {
    return {{"tools", {{"listChanged", true}}}, {"logging", json::object()}};
}

json result_for(const session& of, json result) {
    if (of.stateless()) {
        result["resultType"] = "complete";
        result["_meta"][meta::server_info] = server_info();
    }
    return result;
}

json not_to_be_kept(json result) {
    result["ttlMs"] = 0;
    result["cacheScope"] = "private";
    return result;
}

json of_meta(const json& params, const char* key) {
    const auto found = params.is_object() ? params.find("_meta") : params.end();
    return params.is_object() && found != params.end() && found->is_object() ? found->value(key, json()) : json();
}

json notification_of(const char* method, json params) {
    return {{"jsonrpc", "2.0"}, {"method", method}, {"params", std::move(params)}};
}

std::optional<int> severity_of(std::string_view name) {
    const auto* const found = std::find(log_severities.begin(), log_severities.end(), name);
    return found == log_severities.end() ? std::nullopt
                                         : std::optional(static_cast<int>(found - log_severities.begin()));
}

int severity_of(log_level level) {
    switch (level) {
    case log_level::debug:
        return 0;
    case log_level::info:
        return 1;
    case log_level::warning:
        return 3;
    case log_level::error:
        return 4;
    }
    return 1;
}

std::string_view severity_name(int severity) {
    return log_severities.at(static_cast<std::size_t>(severity));
}

} // namespace chalk::mcp
