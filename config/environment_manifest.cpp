#include "config/environment_manifest.hpp"

#include "config/harbor_task.hpp"
#include "config/nearest.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <optional>

#include <toml++/toml.h>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

constexpr bytes largest_manifest = 1_MiB;

failure at(const std::string& name, const toml::source_region& where, std::string_view cause) {
    return config_failure(fmt::format("{}:{}: {}", name, where.begin.line, cause));
}

result<std::vector<std::string>> strings(const toml::node& node, const std::string& name, std::string_view key) {
    const auto refuse = [&](const toml::node& culprit) {
        return at(name, culprit.source(), fmt::format("tool.chalk.{}: expected a list of strings", key));
    };
    const auto* list = node.as_array();
    if (list == nullptr) {
        return refuse(node);
    }
    std::vector<std::string> out;
    for (const auto& item : *list) {
        const auto* text = item.as_string();
        if (text == nullptr || text->get().find('\0') != std::string::npos) {
            return refuse(item);
        }
        out.push_back(text->get());
    }
    return out;
}

result<environment_manifest> read_table(const toml::table& table, const std::string& name) {
    environment_manifest manifest;
    for (const auto& [key, node] : table) {
        const std::string_view known = key.str();
        if (known != "command" && known != "mask") {
            return at(name, key.source(),
                      fmt::format("tool.chalk.{}: unknown key{}", known, suggestion(known, {"command", "mask"})));
        }
        auto list = strings(node, name, known);
        if (!list) {
            return list.error();
        }
        if (known == "command") {
            if (list->empty() || list->front().empty()) {
                return at(name, node.source(), "tool.chalk.command: expected a program and its arguments");
            }
            manifest.command = std::move(*list);
            continue;
        }
        for (const auto& path : *list) {
            const auto normal = fs::path(path).lexically_normal();
            if (!normal.is_absolute() || normal == "/") {
                return at(name, node.source(),
                          fmt::format("tool.chalk.mask: expected absolute paths below /, got \"{}\"", path));
            }
            manifest.mask.push_back(normal);
        }
    }
    return manifest;
}

bool is_there(const fs::path& path) {
    std::error_code error; // what cannot be looked at is not there for us
    return fs::exists(path, error);
}

} // namespace

result<environment_manifest> parse_environment_manifest(std::string_view text, const std::string& name) {
    try {
        const auto document = toml::parse(text, name);
        const auto chalk = document["tool"]["chalk"];
        if (!chalk) {
            return environment_manifest{};
        }
        if (!chalk.is_table()) {
            return at(name, chalk.node()->source(), "tool.chalk: expected a table");
        }
        return read_table(*chalk.as_table(), name);
    } catch (const toml::parse_error& error) {
        return at(name, error.source(), error.description());
    }
}

result<environment_manifest> load_environment_manifest(const fs::path& folder) {
    std::error_code error;
    if (!fs::is_directory(folder, error)) {
        return config_failure(
            fmt::format("{}: {}", folder.string(), is_there(folder) ? "is not a folder" : "no such folder"));
    }
    if (is_harbor_task(folder)) {
        return load_harbor_task(folder);
    }
    environment_manifest manifest;
    const auto file = folder / "pyproject.toml";
    if (is_there(file)) {
        auto text = read_file(file, largest_manifest);
        if (!text) {
            return text.error();
        }
        auto parsed = parse_environment_manifest(*text, file.string());
        if (!parsed) {
            return parsed;
        }
        manifest = std::move(*parsed);
    }
    if (manifest.command.empty() && !is_there(folder / "src" / "environment" / "__init__.py")) {
        return config_failure(fmt::format("{}: is no environment: it has neither src/environment/__init__.py nor a "
                                          "command in [tool.chalk] of pyproject.toml, and no task.toml of the Harbor "
                                          "layout",
                                          folder.string()));
    }
    return manifest;
}

} // namespace chalk::config
