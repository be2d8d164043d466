#include "config/harbor_task.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace chalk::config;

namespace {

std::string refused(std::string_view text) {
    auto manifest = parse_harbor_task(text, "task.toml");
    return manifest ? "" : manifest.error().message;
}

} // namespace

TEST_CASE("a task of the Harbor layout has a host of chalk's own and brings its time") {
    auto manifest = parse_harbor_task(R"(
version = "1.0"
[task]
name = "org/hello"
authors = [{name = "A"}]
[metadata]
difficulty = "easy"
anything = {goes = [1]}
[verifier]
timeout_sec = 120.0
env = {MODE = "strict"}
user = "root"
[agent]
timeout_sec = 90.5
[solution]
env = {}
[environment]
build_timeout_sec = 600.0
cpus = 1
memory_mb = 2048
storage_mb = 10240
gpus = 0
allow_internet = false
mcp_servers = []
)",
                                      "task.toml");
    REQUIRE(manifest);
    CHECK(manifest->command == std::vector<std::string>{"python3", "-m", "chalk.harbor"});
    CHECK(manifest->step_time == seconds(91));
    CHECK(parse_harbor_task("", "task.toml")->step_time == std::nullopt);
}

TEST_CASE("what cannot be mapped is named with its line, its key and the reason") {
    CHECK(refused("[environment]\ngpus = 1\n") ==
          "task.toml:2: environment.gpus: cannot be mapped, got 1: chalk gives sandboxes no GPUs");
    CHECK(refused("[environment]\ndocker_image = \"x\"\n").find("--rootfs") != std::string::npos);
    CHECK(refused("[environment]\nallow_internet = true\n").find("a sandbox has no network") != std::string::npos);
    CHECK(refused("[environment]\nnetwork_mode = \"public\"\n").find("no network") != std::string::npos);
    CHECK(refused("[[environment.mcp_servers]]\nname = \"x\"\n").find("environment.mcp_servers: cannot be mapped") !=
          std::string::npos);
    CHECK(refused("[environment]\nos = \"windows\"\n").find("sandboxes run Linux") != std::string::npos);
    CHECK(refused("[[steps]]\nname = \"a\"\n")
              .find("steps: cannot be mapped, got a list: chalk maps tasks of one step") != std::string::npos);
    CHECK(refused("[verifier]\nenvironment_mode = \"separate\"\n").find("the student's sandbox") != std::string::npos);
    CHECK(refused("[agent]\nuser = \"root\"\n").find("a user of its own") != std::string::npos);
    CHECK(refused("[verifier]\nenv = {KEY = \"${OPENAI_API_KEY}\"}\n") ==
          "task.toml:2: verifier.env.KEY: cannot be mapped: variables of this machine do not reach a sandbox");
    CHECK(refused("[verifier]\nenv = {KEY = 1}\n").find("expected a string, got 1") != std::string::npos);
    CHECK(refused("[verifier]\ntimeout_sec = 3600\n").find("at most 1800") != std::string::npos);
    CHECK(refused("[verifier]\ntimeout_secs = 3600\n") ==
          "task.toml:2: verifier.timeout_secs: unknown key; did you mean \"verifier.timeout_sec\"?");
    CHECK(refused("[environment\n").starts_with("task.toml:1: "));
}

TEST_CASE("files that ask for more than a sandbox, and those that are missing, are named") {
    const test::temporary_folder folder;
    const auto said = [&] {
        auto manifest = load_environment_manifest(folder.path());
        return manifest ? std::string() : manifest.error().message.substr(folder.path().string().size() + 1);
    };
    folder.write("task.toml", "version = \"1.0\"\n");
    CHECK(is_harbor_task(folder.path()));
    CHECK(said() == "instruction.md: is missing; a task in the Harbor layout has its instructions there");
    folder.write("instruction.md", "Do it.");
    CHECK(said() == "tests/test.sh: is missing; a task in the Harbor layout has its judge there");
    folder.write("tests/test.sh", "#!/bin/sh\n");
    CHECK(said().empty());
    const auto with = [&](const std::string& name) {
        const auto file = folder.write(name, "");
        const auto message = said();
        std::filesystem::remove(file);
        return message;
    };
    CHECK(
        with("environment/Dockerfile").starts_with("environment/Dockerfile: cannot be mapped: chalk builds no images"));
    CHECK(with("environment/docker-compose.yaml").find("no other containers") != std::string::npos);
    CHECK(with("tests/Dockerfile").find("student's sandbox") != std::string::npos);
    CHECK(said().empty());
    folder.write("pyproject.toml", "[tool.chalk]\ncommand = [\"./host\"]\n");
    CHECK_FALSE(is_harbor_task(folder.path()));
}
