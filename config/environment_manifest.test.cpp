#include "config/environment_manifest.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

using namespace chalk;
using namespace chalk::config;

namespace {

std::string error_of(std::string_view text) {
    auto manifest = parse_environment_manifest(text, "pyproject.toml");
    return manifest ? "" : manifest.error().message;
}

} // namespace

TEST_CASE("a manifest's command and masked paths are read") {
    auto manifest =
        parse_environment_manifest("[project]\nname = \"x\"\n[tool.chalk]\ncommand = [\"bin/host\", \"-v\"]\n"
                                   "mask = [\"/usr/share/suite/\", \"/opt/a/../b\"]\n",
                                   "pyproject.toml");
    REQUIRE(manifest);
    CHECK(manifest->command == std::vector<std::string>{"bin/host", "-v"});
    CHECK(manifest->mask == std::vector<std::filesystem::path>{"/usr/share/suite/", "/opt/b"});
}

TEST_CASE("a manifest without a table of chalk's own is empty") {
    CHECK(parse_environment_manifest("", "f")->command.empty());
    CHECK(parse_environment_manifest("[tool.other]\nanything = 1\n", "f")->mask.empty());
}

TEST_CASE("a wrong manifest is refused with its line") {
    CHECK(error_of("[tool.chalk]\n\nmasks = []\n") ==
          "pyproject.toml:3: tool.chalk.masks: unknown key; did you mean \"mask\"?");
    CHECK(error_of("[tool.chalk]\nmask = \"/a\"\n") == "pyproject.toml:2: tool.chalk.mask: expected a list of strings");
    CHECK(error_of("[tool.chalk]\nmask = [\n\"/a\",\n1]\n").starts_with("pyproject.toml:4: "));
    CHECK(error_of("[tool.chalk]\nmask = [\"relative\"]\n").find("absolute") != std::string::npos);
    CHECK(error_of("[tool.chalk]\nmask = [\"/usr/..\"]\n").find("below /") != std::string::npos);
    CHECK(error_of("[tool.chalk]\ncommand = []\n").find("a program") != std::string::npos);
    CHECK(error_of("[tool]\nchalk = 1\n").starts_with("pyproject.toml:2: "));
    CHECK(error_of("[tool.chalk\n").starts_with("pyproject.toml:1: "));
}

TEST_CASE("an environment has a Python package or a command") {
    const test::temporary_folder folder;
    CHECK_FALSE(load_environment_manifest(folder.path() / "absent"));
    CHECK_FALSE(load_environment_manifest(folder.path()));
    folder.write("python/src/environment/__init__.py", "");
    CHECK(load_environment_manifest(folder.path() / "python"));
    folder.write("native/pyproject.toml", "[tool.chalk]\ncommand = [\"./host\"]\n");
    CHECK(load_environment_manifest(folder.path() / "native")->command.front() == "./host");
    folder.write("broken/pyproject.toml", "= 1");
    CHECK(load_environment_manifest(folder.path() / "broken").error().message.find("broken/pyproject.toml:1: ") !=
          std::string::npos);
}
