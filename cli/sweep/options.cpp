#include "cli/sweep/options.hpp"

#include <fmt/format.h>

#include <exception>

namespace chalk::cli {

namespace {

using json = nlohmann::json;

/// One list of fields for both directions.
template<class Options, class Visit>
void every_option(Options& o, Visit visit) {
    visit("runtime", o.runtime);
    visit("memory", o.memory);
    visit("disk", o.disk);
    visit("max_concurrent", o.max_concurrent);
    visit("overcommit", o.overcommit);
    visit("rootfs", o.rootfs);
    visit("mounts", o.mounts);
    visit("proxy", o.proxy);
    visit("no_proxy", o.no_proxy);
    visit("prices", o.prices);
    visit("record", o.record);
    visit("replay", o.replay);
    visit("keep", o.keep);
    visit("no_containerized", o.no_containerized);
}

json value_of(const bytes& size) {
    return size.count;
}
json value_of(const std::filesystem::path& path) {
    std::error_code ec; // a resume may start elsewhere
    return std::filesystem::absolute(path, ec).string();
}
template<class T>
json value_of(const T& value) {
    return value;
}
template<class T>
json value_of(const std::optional<T>& value) {
    return value ? value_of(*value) : json();
}

void take(const json& from, bytes& to) {
    to.count = from.get<std::uint64_t>();
}
void take(const json& from, std::filesystem::path& to) {
    to = from.get<std::string>();
}
template<class T>
void take(const json& from, T& to) {
    to = from.get<T>();
}
template<class T>
void take(const json& from, std::optional<T>& to) {
    to.reset();
    if (!from.is_null()) {
        take(from, to.emplace());
    }
}

} // namespace

json to_json(const run_options& how) {
    json out = json::object();
    every_option(how, [&](const char* name, const auto& value) { out[name] = value_of(value); });
    return out;
}

result<run_options> run_options_from_json(const json& stored) {
    run_options how;
    std::string wrong;
    every_option(how, [&](const char* name, auto& value) {
        try {
            take(stored.at(name), value);
        } catch (const std::exception& why) {
            wrong += fmt::format("{}{}: {}", wrong.empty() ? "" : "; ", name, why.what());
        }
    });
    if (!wrong.empty()) {
        return config_failure("the sweep's options.json: " + wrong);
    }
    return how;
}

} // namespace chalk::cli
