#include "config/config_files.hpp"

#include "config/environment_manifest.hpp"
#include "config/fake_script.hpp"
#include "config/read_keys.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

namespace chalk::config {

namespace fs = std::filesystem;

fs::path resolve_path(const fs::path& folder, const fs::path& path) {
    std::error_code error;
    const auto absolute = fs::absolute(folder / path, error);
    return error ? path : absolute.lexically_normal();
}

result<fs::path> find_environment(const fs::path& written, const fs::path& folder) {
    if (written == noop_environment) {
        return written;
    }
    if (written.string().starts_with("builtin:")) {
        return config_failure(fmt::format("the only built-in environment is \"{}\"", noop_environment));
    }
    auto environment = resolve_path(folder, written);
    if (!environment.has_filename()) { // a trailing slash would hide the folder's name
        environment = environment.parent_path();
    }
    if (auto manifest = load_environment_manifest(environment); !manifest) {
        return manifest.error();
    }
    return environment;
}

result<json> find_script(const json_document& document, const std::string& path, const json& script,
                         const fs::path& folder, const std::string& place) {
    if (!script.is_string()) {
        if (auto checked = check_fake_script(document, script, path); !checked) {
            return checked.error();
        }
        return {boost::system::in_place_value, script};
    }
    const auto file = resolve_path(folder, script.get<std::string>());
    auto text = read_file(file, largest_config);
    if (!text) {
        return config_failure(fmt::format("{}: {}", place, text.error().message));
    }
    auto read = read_json_document(*text, file.string());
    if (!read) {
        return read.error();
    }
    if (auto checked = check_fake_script(*read, read->value, ""); !checked) {
        return checked.error();
    }
    return {boost::system::in_place_value, std::move(read->value)};
}

} // namespace chalk::config
