#include "config/run_config.hpp"

#include "config/environment_manifest.hpp"
#include "config/fake_script.hpp"
#include "config/json_document.hpp"
#include "config/nearest.hpp"
#include "config/run_config_keys.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

constexpr bytes largest_config = 8_MiB;

/// A config's text before it is understood: the document, and the folder that its paths are relative to.
struct source_text {
    json_document document;
    fs::path folder;
};

bool is_json_text(std::string_view source) {
    const auto first = source.find_first_not_of(" \t\r\n");
    return first != std::string_view::npos && source[first] == '{';
}

result<source_text> read_source(const std::string& source) {
    if (is_json_text(source)) {
        auto document = read_json_document(source, "--config");
        if (!document) {
            return document.error();
        }
        return source_text{std::move(*document), {}};
    }
    auto text = read_file(source, largest_config);
    if (!text) {
        return text.error();
    }
    auto document = read_json_document(*text, source);
    if (!document) {
        return document.error();
    }
    return source_text{std::move(*document), fs::path(source).parent_path()};
}

failure at(const json_document& document, const std::string& path, std::string_view cause) {
    return config_failure(fmt::format("{}: {}: {}", document.place_of(path), path, cause));
}

/// Where else a name is a key: "max_turns" at the top was meant for "limits".
std::optional<std::string> key_elsewhere(std::string_view name) {
    for (const auto& spec : run_config_keys()) {
        if (spec.path.size() > name.size() && spec.path.ends_with(name) &&
            spec.path[spec.path.size() - name.size() - 1] == '.') {
            return std::string(spec.path);
        }
    }
    return std::nullopt;
}

failure unknown_key(const json_document& document, const std::string& group, const std::string& name) {
    const auto known = names_in(group);
    auto hint = suggestion(name, known);
    if (const auto elsewhere = key_elsewhere(name); elsewhere) {
        hint = fmt::format("; did you mean \"{}\"?", *elsewhere);
    } else if (const auto meant = nearest(name, known); meant && !group.empty()) {
        hint = fmt::format("; did you mean \"{}\"?", join_path(group, *meant));
    }
    return at(document, join_path(group, name), "unknown key" + hint);
}

/// Every key of a level must be a row of the table or a group, in the file's terms.
result<void> check_names(const json_document& document, const json& level, const std::string& group) {
    const auto known = names_in(group);
    for (const auto& [name, value] : level.items()) {
        const auto path = join_path(group, name);
        if (std::find(known.begin(), known.end(), name) == known.end()) {
            return unknown_key(document, group, name);
        }
        if (!is_group(path)) {
            continue;
        }
        if (!value.is_object()) {
            return at(document, path, fmt::format("expected an object, got {}", preview(value)));
        }
        if (auto checked = check_names(document, value, path); !checked) {
            return checked;
        }
    }
    return {};
}

/// The value at "group.name" of the document, or null.
const json* find_value(const json& document, std::string_view path) {
    const auto dot = path.find('.');
    const auto found = document.find(path.substr(0, dot));
    if (found == document.end()) {
        return nullptr;
    }
    return dot == std::string_view::npos ? &*found : find_value(*found, path.substr(dot + 1));
}

const override_value* find_override(const std::vector<override_value>& overrides, std::string_view path) {
    // The last flag stands, as on any command line.
    const auto found =
        std::find_if(overrides.rbegin(), overrides.rend(), [&](const override_value& one) { return one.key == path; });
    return found == overrides.rend() ? nullptr : &*found;
}

/// Sets every key from its flag, its place in the document, or its default.
result<loaded_run_config> resolve(const json_document& document, const std::vector<override_value>& overrides) {
    if (!document.value.is_object()) {
        return config_failure(
            fmt::format("{}: expected an object, got {}", document.place_of(""), preview(document.value)));
    }
    if (auto checked = check_names(document, document.value, ""); !checked) {
        return checked.error();
    }
    for (const auto& one : overrides) {
        if (find_key(one.key) == nullptr) {
            return config_failure(fmt::format("{}: there is no key \"{}\"", one.flag, one.key));
        }
    }

    loaded_run_config loaded;
    for (const auto& spec : run_config_keys()) {
        const std::string path(spec.path);
        if (const auto* flag = find_override(overrides, spec.path)) {
            if (const auto wrong = check_value(spec, flag->value); !wrong.empty()) {
                return config_failure(fmt::format("{}: {}", flag->flag, wrong));
            }
            loaded.sources[path] = flag->flag;
            if (spec.set != nullptr && !flag->value.is_null()) {
                spec.set(loaded.config, flag->value);
            }
        } else if (const auto* value = find_value(document.value, spec.path)) {
            if (const auto wrong = check_value(spec, *value); !wrong.empty()) {
                return at(document, path, wrong);
            }
            loaded.sources[path] = document.place_of(path);
            if (spec.set != nullptr && !value->is_null()) {
                spec.set(loaded.config, *value);
            }
        } else if (spec.required) {
            return config_failure(
                fmt::format("{}: {}: this key is missing; expected {}", document.name, path, expectation(spec)));
        } else {
            loaded.sources[path] = "default";
        }
    }
    return loaded;
}

/// A value's place for a message, whether a file or a flag gave it.
std::string place(const loaded_run_config& loaded, const std::string& path) {
    const auto found = loaded.sources.find(path);
    return found == loaded.sources.end() ? path : fmt::format("{}: {}", found->second, path);
}

/// A flag's paths are relative to the working directory, a file's to its folder.
fs::path resolve_path(const loaded_run_config& loaded, const std::string& key, const fs::path& folder,
                      const fs::path& path) {
    const auto found = loaded.sources.find(key);
    const bool from_flag =
        found != loaded.sources.end() && found->second.starts_with("--") && !found->second.starts_with("--config:");
    std::error_code error;
    const auto absolute = fs::absolute(from_flag ? path : folder / path, error);
    return error ? path : absolute.lexically_normal();
}

result<void> find_environment(loaded_run_config& loaded, const fs::path& folder) {
    auto& environment = loaded.config.environment;
    if (environment == noop_environment) {
        return {};
    }
    const auto refuse = [&](const failure& why) {
        return config_failure(fmt::format("{}: {}", place(loaded, "environment"), why.message));
    };
    if (environment.string().starts_with("builtin:")) {
        return refuse(config_failure(fmt::format("the only built-in environment is \"{}\"", noop_environment)));
    }
    environment = resolve_path(loaded, "environment", folder, environment);
    if (!environment.has_filename()) { // a trailing slash would hide the folder's name
        environment = environment.parent_path();
    }
    if (auto manifest = load_environment_manifest(environment); !manifest) {
        return refuse(manifest.error());
    }
    return {};
}

result<void> find_script(loaded_run_config& loaded, const json_document& document, const fs::path& folder) {
    const std::string key = "fake_model.script";
    auto& script = loaded.config.fake.script;
    if (!script.is_string()) {
        return check_fake_script(document, script, key);
    }
    const auto file = resolve_path(loaded, key, folder, script.get<std::string>());
    auto text = read_file(file, largest_config);
    if (!text) {
        return config_failure(fmt::format("{}: {}", place(loaded, key), text.error().message));
    }
    auto read = read_json_document(*text, file.string());
    if (!read) {
        return read.error();
    }
    if (auto checked = check_fake_script(*read, read->value, ""); !checked) {
        return checked;
    }
    script = std::move(read->value);
    return {};
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

result<loaded_run_config> load_run_config(const std::string& source, const std::vector<override_value>& overrides) {
    auto text = read_source(source);
    if (!text) {
        return text.error();
    }
    auto loaded = resolve(text->document, overrides);
    if (!loaded) {
        return loaded;
    }
    if (auto found = find_environment(*loaded, text->folder); !found) {
        return found.error();
    }
    if (auto found = find_script(*loaded, text->document, text->folder); !found) {
        return found.error();
    }
    if (loaded->config.id.empty()) {
        loaded->config.id = make_run_id(loaded->config.environment, std::chrono::system_clock::now());
    }
    return loaded;
}

result<run_config> parse_resolved_config(const json& value) {
    const json_document document{"run config", value, {}};
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
