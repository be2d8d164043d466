#include "config/sweep/sweep_file.hpp"

#include "config/config_files.hpp"
#include "config/read_keys.hpp"
#include "config/sweep/sweep_axes.hpp"
#include "config/sweep/sweep_file_keys.hpp"
#include "config/sweep/sweep_filters.hpp"
#include "protocol/core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t cell_id_digits = 16;
constexpr std::uint64_t most_runs = std::uint64_t{1} << 62U;

/// The values of a config that are not their defaults: a later chalk's new keys do not change a digest.
json changed_keys(const run_config& config) {
    const run_config fresh;
    json out = json::object();
    for (const auto* spec : run_config_table().keys()) {
        if (spec->get == nullptr || spec->get(config) == spec->get(fresh)) {
            continue;
        }
        const auto dot = spec->path.find('.');
        auto& level = dot == std::string_view::npos ? out : out[std::string(spec->path.substr(0, dot))];
        level[std::string(dot == std::string_view::npos ? spec->path : spec->path.substr(dot + 1))] = spec->get(config);
    }
    return out;
}

/// The values of a whole axis as a sweep file has them.
json values_of(const sweep_axis& axis) {
    json values = json::array();
    for (const auto& value : axis.values) {
        values.push_back(find_key_path(axis.name) ? value.at(axis.name) : value);
    }
    return values;
}

std::string digest_of(const loaded_sweep_file& loaded) {
    json what = {{"base", changed_keys(loaded.base)}, {"axes", json::array()}};
    for (const std::string key : {"name", "repeat", "seed"}) {
        const auto* spec = sweep_file_table().find(key);
        what[key] = row_of(*spec).get(loaded.sweep);
    }
    for (const std::string key : {"include", "exclude"}) {
        what[key] = loaded.settings.value(key, json::array());
    }
    for (std::size_t i = 0; i < loaded.matrix.axes().size(); ++i) {
        json resolved = json::array();
        for (const auto& value : loaded.changes[i]) {
            json keys = json::object();
            for (const auto& change : value.keys) {
                keys[change.path] = change.value;
            }
            resolved.push_back(std::move(keys));
        }
        const auto& axis = loaded.matrix.axes()[i];
        what["axes"].push_back({{"name", axis.name}, {"values", values_of(axis)}, {"resolved", std::move(resolved)}});
    }
    return "sha256:" + sha256_hex(dump_json(what));
}

/// Takes the file apart, in the order in which a message helps most.
class sweep_loader {
  public:
    sweep_loader(const config_source& source, const std::vector<override_value>& overrides)
        : document_(source.document), overrides_(overrides) {
        loaded_.source = document_.name;
        loaded_.folder = resolve_path(source.folder, "");
    }

    result<loaded_sweep_file> load() {
        for (const auto step : {&sweep_loader::load_settings, &sweep_loader::check_settings, &sweep_loader::load_base,
                                &sweep_loader::load_matrix, &sweep_loader::check_environment,
                                &sweep_loader::check_overrides, &sweep_loader::check_size}) {
            if (auto done = (this->*step)(); !done) {
                return done.error();
            }
        }
        loaded_.settings = document_.value;
        loaded_.settings.erase("base");
        loaded_.settings.erase("axes");
        loaded_.digest = digest_of(loaded_);
        return std::move(loaded_);
    }

  private:
    result<void> load_settings() {
        auto read = read_keys(document_, sweep_file_table(), {}, [&](const key_spec& spec, const json& value) {
            if (const auto& row = row_of(spec); row.set != nullptr) {
                row.set(loaded_.sweep, value);
            }
        });
        return read ? result<void>() : read.error();
    }

    result<void> check_settings() {
        const auto& sweep = loaded_.sweep;
        const auto longest = sweep.name.size() + 1 + cell_id_digits + 1 + std::to_string(sweep.repeat - 1).size();
        if (longest > run_id::max_length) {
            return document_.at("name", fmt::format("run ids would have up to {} characters, more than {}", longest,
                                                    run_id::max_length));
        }
        if (sweep.retry.max_backoff < sweep.retry.backoff) {
            return document_.at("retry.max_backoff_s", "expected at least backoff_s");
        }
        return {};
    }

    result<void> load_base() {
        const auto& base = document_.value.at("base");
        config_source source{document_.part("base"), loaded_.folder};
        if (base.is_string()) {
            const auto file = resolve_path(loaded_.folder, base.get<std::string>());
            auto read = read_config_file(file);
            if (!read) {
                return document_.at("base", read.error().message);
            }
            source = {std::move(*read), file.parent_path()};
        }
        auto config = load_run_config(source, {overrides_, false});
        if (!config) {
            return config.error();
        }
        for (const std::string key : {"seed", "websocket_port"}) { // the others that a sweep sets are replaced
            if (!find_key(key)->get(config->config).is_null()) {
                return config_failure(fmt::format("{}: {}: {}", config->sources.at(key), source.document.full_path(key),
                                                  why_not_in_a_sweep(key)));
            }
        }
        config->config.id = {};
        config->config.transcript_file = run_config{}.transcript_file;
        loaded_.base = std::move(config->config);
        loaded_.base_sources = std::move(config->sources);
        return {};
    }

    result<void> load_matrix() {
        auto axes = load_axes(document_, loaded_.folder, loaded_.base);
        if (!axes) {
            return axes.error();
        }
        auto include = load_filters(document_, "include", axes->axes);
        if (!include) {
            return include.error();
        }
        auto exclude = load_filters(document_, "exclude", axes->axes);
        if (!exclude) {
            return exclude.error();
        }
        auto matrix = sweep_matrix::make(std::move(axes->axes), std::move(*include), std::move(*exclude));
        if (!matrix) {
            return document_.at("axes", matrix.error().message);
        }
        loaded_.matrix = std::move(*matrix);
        loaded_.changes = std::move(axes->changes);
        return {};
    }

    result<void> check_environment() {
        const auto& axes = loaded_.matrix.axes();
        const bool given = std::any_of(axes.begin(), axes.end(), [](const sweep_axis& axis) {
            return std::all_of(axis.values.begin(), axis.values.end(),
                               [](const json& value) { return value.contains("environment"); });
        });
        if (!loaded_.base.environment.empty() || given) {
            return {};
        }
        return document_.at("base",
                            "the key \"environment\" is missing; expected it here, or in every value of an axis");
    }

    result<void> check_overrides() {
        for (const auto& one : overrides_) {
            for (const auto& axis : loaded_.matrix.axes()) {
                for (const auto& value : axis.values) {
                    for (const auto& [key, unused] : value.items()) {
                        if (key == one.key || key.starts_with(one.key + ".")) {
                            return config_failure(
                                fmt::format("{}: axis \"{}\" of {} sets this", one.flag, axis.name, loaded_.source));
                        }
                    }
                }
            }
        }
        return {};
    }

    result<void> check_size() {
        if (loaded_.matrix.combinations() > most_runs / loaded_.sweep.repeat) {
            return document_.at("repeat", "the sweep has more than 2^62 runs");
        }
        if (!loaded_.matrix.next_kept(0)) {
            return document_.at(document_.value.contains("include") ? "include" : "exclude",
                                "the filters leave no cell");
        }
        return {};
    }

    const json_document& document_;
    const std::vector<override_value>& overrides_;
    loaded_sweep_file loaded_;
};

} // namespace

result<loaded_sweep_file> load_sweep_file(const std::string& source, const std::vector<override_value>& overrides) {
    auto read = read_config_source(source);
    if (!read) {
        return read.error();
    }
    return load_sweep_file(*read, overrides);
}

result<loaded_sweep_file> load_sweep_file(const config_source& source, const std::vector<override_value>& overrides) {
    return sweep_loader(source, overrides).load();
}

std::string stored_sweep(const loaded_sweep_file& loaded) {
    // The order of the axes decides the numbers of cells, and a json object would forget it.
    std::string axes;
    for (const auto& axis : loaded.matrix.axes()) {
        axes +=
            fmt::format("{}\n    {}: {}", axes.empty() ? "" : ",", dump_json(axis.name), dump_json(values_of(axis)));
    }
    std::string sweep;
    for (const auto& [key, value] : loaded.settings.items()) {
        sweep += fmt::format("   {}: {},\n", dump_json(key), dump_json(value));
    }
    return fmt::format("{{\"source\": {},\n \"folder\": {},\n \"digest\": {},\n \"sweep\": {{\n{}   \"base\": {},\n   "
                       "\"axes\": {{{}}}}}}}\n",
                       dump_json(loaded.source), dump_json(loaded.folder.string()), dump_json(loaded.digest), sweep,
                       dump_json(changed_keys(loaded.base)), axes);
}

result<loaded_sweep_file> load_stored_sweep(std::string_view text, const std::string& name) {
    auto document = read_json_document(text, name);
    if (!document) {
        return document.error();
    }
    const auto& stored = document->value;
    for (const char* key : {"source", "folder", "digest"}) {
        if (!stored.is_object() || !stored.contains(key) || !stored[key].is_string()) {
            return document->at("", fmt::format("is no stored sweep: \"{}\" is missing", key));
        }
    }
    const config_source source{document->part("sweep"), stored["folder"].get<std::string>()};
    auto loaded = load_sweep_file(source, {});
    if (!loaded) {
        return loaded;
    }
    if (loaded->digest != stored["digest"]) {
        return config_failure(
            fmt::format("{}: a script that an axis names by its path has changed since the sweep began "
                        "({} was {})",
                        name, loaded->digest, stored["digest"].get<std::string>()));
    }
    loaded->source = stored["source"].get<std::string>();
    return loaded;
}

} // namespace chalk::config
