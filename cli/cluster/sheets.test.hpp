/// A sweep that was planned on this machine and never starts, for tests of what of it goes to nodes.
#pragma once

#include "cli/sweep/sweep_site.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <memory>
#include <string>

namespace chalk::test {

/// Stands for the runtime in orders that nobody starts: whatever is asked of it fails.
class unasked_runtime final : public runtime {
  public:
    [[nodiscard]] std::string_view name() const noexcept override { return "namespaces"; }
    [[nodiscard]] probe_report probe() override { return {{{"unasked_runtime", "ask it nothing"}}, {}}; }
    [[nodiscard]] result<void> prepare(const sandbox_request&) override { return unasked(); }
    [[nodiscard]] result<std::unique_ptr<sandbox>> start(const sandbox_request&) override { return unasked(); }
    void set_lease(std::optional<node_time>) override {}
    [[nodiscard]] result<std::vector<leftover>> remove_leftovers(bool) override { return unasked(); }

  private:
    static failure unasked() { return sandbox_failure("a runtime that nobody should ask was asked"); }
};

/// Its environments are "one" and "two" in a folder of its own.
struct sweep_workspace {
    temporary_folder folder;
    boost::asio::io_context io;

    sweep_workspace() {
        for (const char* name : {"one", "two"}) {
            folder.write(fmt::format("{}/src/environment/__init__.py", name), fmt::format("name = '{}'\n", name));
            folder.write(fmt::format("{}/pyproject.toml", name), "[tool.chalk]\nmask = [\"/srv/secret\"]\n");
            folder.write(fmt::format("{}/root_data/large", name), std::string(1'500'000, name[0]));
            folder.write(fmt::format("{}/src/environment/__pycache__/x.pyc", name), "left out");
            folder.write(fmt::format("{}/out/old.json", name), "left out");
        }
        const auto program = folder.write("one/bin/program", "#!/bin/sh\n");
        std::filesystem::permissions(program, std::filesystem::perms::owner_all);
        std::filesystem::create_symlink("../bin/program", folder.path() / "one/src/link");
        std::filesystem::create_directory(folder.path() / "one/nothing");
    }

    /// `base` and `members`: of the sweep file. Not contained unless `how` is told to be.
    [[nodiscard]] cli::step_result<std::unique_ptr<cli::sweep_site>>
    plan(const std::string& base, const std::string& members, bool contained = false, cli::run_options how = {}) {
        const auto text =
            fmt::format(R"({{"name": "s", "base": {{"environment": "one", {}}}, "seed": 7{}}})", base, members);
        auto file = config::load_sweep_file(folder.write("sweep.json", text).string());
        INFO((file ? "" : file.error().message));
        REQUIRE(file);
        cli::sweep_options asked;
        asked.how = std::move(how);
        asked.how.no_containerized = !contained;
        asked.folder = folder.path() / "sweep";
        asked.dry_run = true;
        return cli::sweep_site::prepare(io, std::move(*file), asked, {},
                                        contained ? std::make_shared<unasked_runtime>() : nullptr);
    }
};

} // namespace chalk::test
