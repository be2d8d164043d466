#include "config/harbor_task.hpp"

#include "config/defaults.hpp"
#include "config/read_keys.hpp"
#include "config/toml_document.hpp"
#include "protocol/core/read_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace chalk::config {

namespace {

namespace fs = std::filesystem;

constexpr bytes largest_task_file = 1_MiB;

/// A key that chalk can map only with one of these values.
struct fixed_key {
    std::string_view path;
    std::vector<json> harmless;
    std::string_view why;
};

const std::vector<fixed_key>& fixed_keys() {
    static constexpr std::string_view one_step = "chalk maps tasks of one step";
    static constexpr std::string_view network = "a sandbox has no network";
    static constexpr std::string_view gpus = "chalk gives sandboxes no GPUs";
    static constexpr std::string_view same_sandbox = "the judge runs in the student's sandbox, after it";
    static const json none = json::array();
    static const std::vector<fixed_key> keys = {
        {"steps", {none}, one_step},
        {"multi_step_reward_strategy", {}, one_step},
        {"artifacts", {none}, "name files to keep in extra_config.extra_artifact_paths of the run config"},
        {"agent.user", {nullptr}, "the student is a user of its own"},
        {"agent.network_mode", {nullptr, "no-network"}, network},
        {"verifier.user", {nullptr, "root", 0}, "the judge runs as root"},
        {"verifier.network_mode", {nullptr, "no-network"}, network},
        {"verifier.environment_mode", {nullptr, "shared"}, same_sandbox},
        {"verifier.environment", {nullptr}, same_sandbox},
        {"verifier.collect", {none}, same_sandbox},
        {"environment.docker_image",
         {nullptr, ""},
         "chalk pulls no images: unpack it into a folder for --rootfs, and leave this key out"},
        {"environment.os", {"linux"}, "sandboxes run Linux"},
        {"environment.gpus", {nullptr, 0}, gpus},
        {"environment.gpu_types", {nullptr, none}, gpus},
        {"environment.allow_internet", {false}, network},
        {"environment.network_mode", {nullptr, "no-network"}, network},
        {"environment.allowed_hosts", {nullptr, none}, network},
        {"environment.mcp_servers", {nullptr, none}, "chalk starts no MCP servers of a task"},
        {"environment.skills_dir", {nullptr}, "chalk hands no skills to agents"},
        {"environment.env", {json::object()}, "the student's variables are chalk's own"},
        {"environment.workdir", {nullptr, "/workdir"}, "the student works in /workdir"},
        {"environment.healthcheck", {nullptr}, "chalk starts no services of a task"},
    };
    return keys;
}

/// What chalk maps, or leaves to whoever reads it.
const key_table& mapped_keys() {
    static const auto judge_limit = static_cast<std::uint64_t>(defaults::environment_judge.count() / 1'000);
    static const std::vector<key_spec> specs = {
        {.path = "version", .shown_default = "1.0"},
        {.path = "schema_version", .shown_default = "1.0"},
        {.path = "source", .shown_default = "none"},
        {.path = "task", .kind = value_kind::object, .shown_default = "none"},
        {.path = "metadata", .kind = value_kind::object, .shown_default = "none"},
        {.path = "agent.timeout_sec", .kind = value_kind::amount, .maximum = 31'536'000, .shown_default = "none"},
        {.path = "verifier.timeout_sec", .kind = value_kind::amount, .maximum = judge_limit, .shown_default = "600"},
        {.path = "verifier.env", .kind = value_kind::object, .shown_default = "none"},
        {.path = "solution.env", .kind = value_kind::object, .shown_default = "none"},
        {.path = "environment.build_timeout_sec",
         .kind = value_kind::amount,
         .maximum = 31'536'000,
         .shown_default = "none"},
        {.path = "environment.cpus", .kind = value_kind::amount, .maximum = 1'000'000, .shown_default = "none"},
        {.path = "environment.memory_mb",
         .kind = value_kind::amount,
         .maximum = 1'000'000'000,
         .shown_default = "none"},
        {.path = "environment.storage_mb",
         .kind = value_kind::amount,
         .maximum = 1'000'000'000,
         .shown_default = "none"},
        {.path = "environment.memory", .shown_default = "none"},
        {.path = "environment.storage", .shown_default = "none"},
    };
    static const key_table table = [] {
        std::vector<const key_spec*> keys;
        for (const auto& spec : specs) {
            keys.push_back(&spec);
        }
        return key_table(std::move(keys), {});
    }();
    return table;
}

/// Takes the fixed keys out of the document, once each has a value that changes nothing.
result<void> check_fixed_keys(json_document& document) {
    for (const auto& key : fixed_keys()) {
        const auto dot = key.path.find('.');
        auto* level = &document.value;
        if (dot != std::string_view::npos) {
            const auto group = level->find(key.path.substr(0, dot));
            if (group == level->end() || !group->is_object()) {
                continue;
            }
            level = &*group;
        }
        const std::string name(key.path.substr(dot == std::string_view::npos ? 0 : dot + 1));
        const auto found = level->find(name);
        if (found == level->end()) {
            continue;
        }
        if (std::find(key.harmless.begin(), key.harmless.end(), *found) == key.harmless.end()) {
            return document.at(std::string(key.path),
                               fmt::format("cannot be mapped, got {}: {}", preview(*found), key.why));
        }
        level->erase(name);
    }
    return {};
}

/// Variables of the judge and the solution: texts as they are. Harbor fills in ${NAME} from the machine that runs it.
result<void> check_variables(const json_document& document, const std::string& path, const json& variables) {
    for (const auto& [name, value] : variables.items()) {
        if (!value.is_string()) {
            return document.at(join_path(path, name), fmt::format("expected a string, got {}", preview(value)));
        }
        if (value.get_ref<const std::string&>().find("${") != std::string::npos) {
            return document.at(join_path(path, name),
                               "cannot be mapped: variables of this machine do not reach a sandbox");
        }
    }
    return {};
}

failure missing(const fs::path& file, std::string_view what) {
    return config_failure(fmt::format("{}: is missing; a task in the Harbor layout has {} there", file.string(), what));
}

/// Files that ask for more than chalk has, and those without which there is no task.
result<void> check_files(const fs::path& folder) {
    static constexpr std::string_view images = "chalk builds no images yet; unpack one into a folder for --rootfs";
    static constexpr std::string_view services = "chalk starts one sandbox a run, no other containers";
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> refused = {{
        {"environment/Dockerfile", images},
        {"environment/Containerfile", images},
        {"environment/docker-compose.yaml", services},
        {"environment/docker-compose.yml", services},
        {"environment/compose.yaml", services},
        {"tests/Dockerfile", "the judge runs in the student's sandbox"},
    }};
    std::error_code error; // what cannot be looked at is not there for us
    for (const auto& [name, why] : refused) {
        if (fs::exists(folder / name, error)) {
            return config_failure(fmt::format("{}: cannot be mapped: {}", (folder / name).string(), why));
        }
    }
    if (!fs::is_regular_file(folder / "instruction.md", error)) {
        return missing(folder / "instruction.md", "its instructions");
    }
    if (!fs::is_regular_file(folder / "tests" / "test.sh", error)) {
        return missing(folder / "tests" / "test.sh", "its judge");
    }
    return {};
}

} // namespace

bool is_harbor_task(const fs::path& folder) {
    std::error_code error;
    return fs::exists(folder / "task.toml", error) && !fs::exists(folder / "pyproject.toml", error) &&
           !fs::exists(folder / "src" / "environment" / "__init__.py", error);
}

result<environment_manifest> parse_harbor_task(std::string_view text, const std::string& name) {
    auto document = read_toml_document(text, name);
    if (!document) {
        return document.error();
    }
    if (auto fixed = check_fixed_keys(*document); !fixed) {
        return fixed.error();
    }
    environment_manifest manifest;
    manifest.command = {"python3", "-m", "chalk.harbor"};
    result<void> variables;
    auto read = read_keys(*document, mapped_keys(), {}, [&](const key_spec& spec, const json& value) {
        if (spec.path == "agent.timeout_sec") {
            manifest.step_time = seconds(static_cast<std::int64_t>(std::ceil(value.get<double>())));
        } else if (spec.path.ends_with(".env") && variables) {
            variables = check_variables(*document, std::string(spec.path), value);
        }
    });
    if (!read) {
        return read.error();
    }
    if (!variables) {
        return variables.error();
    }
    return manifest;
}

result<environment_manifest> load_harbor_task(const fs::path& folder) {
    auto text = read_file(folder / "task.toml", largest_task_file);
    if (!text) {
        return text.error();
    }
    auto manifest = parse_harbor_task(*text, (folder / "task.toml").string());
    if (!manifest) {
        return manifest;
    }
    if (auto files = check_files(folder); !files) {
        return files.error();
    }
    return manifest;
}

} // namespace chalk::config
