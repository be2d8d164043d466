#include "config/run_config.hpp"

#include "config/config_files.hpp"
#include "config/fake_script.hpp"
#include "config/read_keys.hpp"
#include "config/seed.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

/// Sets every key from its flag, its place in the document, or its default.
result<loaded_run_config> resolve(const json_document& document, const read_rules& rules) {
    loaded_run_config loaded;
    auto sources = read_keys(document, run_config_table(), rules, [&](const key_spec& spec, const json& value) {
        if (spec.set != nullptr) {
            spec.set(loaded.config, value);
        }
    });
    if (!sources) {
        return sources.error();
    }
    loaded.sources = std::move(*sources);
    return loaded;
}

/// A value's place for a message, whether a file or a flag gave it.
std::string place(const loaded_run_config& loaded, const json_document& document, const std::string& path) {
    return fmt::format("{}: {}", loaded.sources.at(path), document.full_path(path));
}

/// A flag's paths are relative to the working directory, a file's to its folder.
fs::path folder_of(const loaded_run_config& loaded, const std::string& key, const fs::path& folder) {
    const auto& source = loaded.sources.at(key);
    const bool from_flag = source.starts_with("--") && source != "--config" && !source.starts_with("--config:");
    return from_flag ? fs::path() : folder;
}

} // namespace

run_id make_run_id(const fs::path& environment, wall_time now) {
    std::string name;
    for (const char c : environment == noop_environment ? "noop" : environment.filename().string()) {
        const bool allowed = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
                             c == '.' || c == '-';
        name += allowed ? c : '-';
    }
    constexpr std::size_t longest_name = 60; // leaves room for the time and for "-<i>"
    name = name.substr(0, longest_name);
    name.erase(0, std::min(name.find_first_not_of("-._"), name.size()));
    std::string time;
    for (const char c : format_time(now)) { // 2026-01-31T12:00:00.123Z as 20260131-120000123
        if (c == 'T') {
            time += '-';
        } else if (c >= '0' && c <= '9') {
            time += c;
        }
    }
    return run_id::parse(fmt::format("{}-{}", name.empty() ? "run" : name, time)).value();
}

result<loaded_run_config> load_run_config(const config_source& source, const read_rules& rules) {
    auto loaded = resolve(source.document, rules);
    if (!loaded) {
        return loaded;
    }
    auto& config = loaded->config;
    if (!config.environment.empty()) {
        const std::string key = "environment";
        auto found = find_environment(config.environment, folder_of(*loaded, key, source.folder));
        if (!found) {
            return config_failure(fmt::format("{}: {}", place(*loaded, source.document, key), found.error().message));
        }
        config.environment = std::move(*found);
    }
    const std::string key = "fake_model.script";
    auto script = find_script(source.document, key, config.fake.script, folder_of(*loaded, key, source.folder),
                              place(*loaded, source.document, key));
    if (!script) {
        return script.error();
    }
    config.fake.script = std::move(*script);
    return loaded;
}

result<loaded_run_config> load_run_config(const std::string& source, const std::vector<override_value>& overrides) {
    auto read = read_config_source(source);
    if (!read) {
        return read.error();
    }
    auto loaded = load_run_config(*read, {overrides});
    if (loaded && loaded->config.id.empty()) {
        loaded->config.id = make_run_id(loaded->config.environment, std::chrono::system_clock::now());
    }
    return loaded;
}

result<run_config> parse_resolved_config(const json& value) {
    const json_document document{"run config", value};
    auto loaded = resolve(document, {});
    if (!loaded) {
        return loaded.error();
    }
    if (auto checked = check_fake_script(document, loaded->config.fake.script, "fake_model.script"); !checked) {
        return checked.error();
    }
    return std::move(loaded->config);
}

json to_json(const run_config& config) {
    json out = json::object();
    for (const auto& spec : run_config_keys()) {
        if (spec.get == nullptr) {
            continue;
        }
        const auto dot = spec.path.find('.');
        auto& level = dot == std::string_view::npos ? out : out[std::string(spec.path.substr(0, dot))];
        level[std::string(dot == std::string_view::npos ? spec.path : spec.path.substr(dot + 1))] = spec.get(config);
    }
    return out;
}

json without_defaults(const json& config) {
    static const json defaults = to_json(run_config{});
    json out = json::object();
    for (const auto& [name, value] : config.items()) {
        const auto usual = defaults.find(name);
        if (usual == defaults.end() || !usual->is_object() || !value.is_object()) {
            if (usual == defaults.end() || value != *usual) {
                out[name] = value;
            }
            continue;
        }
        // A group, or a key that is {} by default.
        for (const auto& [below, one] : value.items()) {
            if (const auto known = usual->find(below); known == usual->end() || one != *known) {
                out[name][below] = one;
            }
        }
    }
    return out;
}

result<std::vector<run_config>> split(const run_config& config, std::size_t n) {
    if (n == 0) {
        return config_failure("-n: expected at least 1 run, got 0");
    }
    if (n == 1) {
        return std::vector<run_config>{config};
    }
    constexpr std::size_t last_port = 65535;
    if (config.websocket_port && *config.websocket_port + (n - 1) > last_port) {
        return config_failure(fmt::format("websocket_port: {} runs from port {} on would pass port {}", n,
                                          *config.websocket_port, last_port));
    }
    std::vector<run_config> runs;
    runs.reserve(n);
    for (std::size_t i = 0; i < n; ++i) {
        auto id = config.id.indexed(i);
        if (!id) {
            return id.error();
        }
        auto run = config;
        run.id = std::move(*id);
        if (run.seed) {
            run.seed = seed_of(*run.seed, i);
        }
        const auto extension = config.transcript_file.has_extension() ? config.transcript_file.extension() : ".json";
        run.transcript_file.replace_filename(
            fmt::format("{}_{}{}", config.transcript_file.stem().string(), i, extension.string()));
        if (run.websocket_port) {
            run.websocket_port = static_cast<std::uint16_t>(*config.websocket_port + i);
        }
        runs.push_back(std::move(run));
    }
    return runs;
}

} // namespace chalk::config
