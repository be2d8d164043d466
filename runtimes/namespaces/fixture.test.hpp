/// For tests: a runtime with folders of its own whose "harness" is a shell script, and what the script said.
#pragma once

#include "protocol/net/io_thread.hpp"
#include "runtimes/namespaces/namespaces_runtime.hpp"
#include "tests/support/catch.hpp"

#include <filesystem>
#include <fstream>
#include <future>
#include <iostream>
#include <iterator>
#include <string>

#include <unistd.h>

namespace chalk::test {

[[nodiscard]] bool has_cgroups();

struct script_result {
    sandbox_exit exit;
    std::string said; ///< what came over the host channel
    [[nodiscard]] std::string all() const { return said + "|" + exit.last_words; }
};

/// Everything of it is below one temporary folder, which goes with it.
class namespaces_fixture {
  public:
    namespaces_fixture() {
        std::string pattern = (std::filesystem::temp_directory_path() / "chalk-test-XXXXXX").string();
        folder = ::mkdtemp(pattern.data());
        write("src/environment/__init__.py", "");
        std::filesystem::create_directories(folder / "out");
    }
    namespaces_fixture(const namespaces_fixture&) = delete;
    namespaces_fixture& operator=(const namespaces_fixture&) = delete;
    ~namespaces_fixture() {
        made.reset();
        // Without root the staged files are the sandboxes', and only the cache can remove them.
        (void)make_node_cache(options("")).collect(std::chrono::hours(-1), false);
        std::error_code ignored;
        std::filesystem::remove_all(folder, ignored);
    }

    void write(const std::string& path, const std::string& text) const {
        const std::filesystem::path file = folder / "environment" / path;
        std::filesystem::create_directories(file.parent_path());
        std::ofstream(file) << text;
    }

    [[nodiscard]] namespaces_options options(const std::string& script) const {
        namespaces_options wanted;
        wanted.cache_folder = folder / "cache";
        wanted.state_folder = folder / "state";
        wanted.harness = {"/bin/sh", "-c", script};
        return wanted;
    }

    [[nodiscard]] sandbox_request request(const std::string& id = "run-1");

    /// Why sandboxes cannot be made here; empty when they can.
    [[nodiscard]] std::string why_not() {
        auto trial = make_namespaces_runtime(io.context(), options("true"));
        const probe_report report = trial->probe();
        return report.usable() ? "" : report.missing.front().what + ": " + report.missing.front().remedy;
    }

    /// Runs `script` as the harness (descriptor 3 is the host channel) in one sandbox and removes it.
    [[nodiscard]] script_result run(const std::string& script);

    /// Waits for the sandbox's end.
    [[nodiscard]] sandbox_exit wait(sandbox& one) {
        std::promise<sandbox_exit> ended;
        one.async_wait(io.context(), [&](sandbox_exit end) { ended.set_value(std::move(end)); });
        return ended.get_future().get();
    }

    std::filesystem::path folder;
    std::vector<std::filesystem::path> mask;
    std::filesystem::path gateway_folder;
    sandbox_limits limits;
    io_thread io;
    std::unique_ptr<runtime> made;
};

} // namespace chalk::test

/// Leaves the test as skipped where the kernel lets us limit nothing.
#define CHALK_NEEDS_CGROUPS()                                                                                          \
    if (!chalk::test::has_cgroups()) {                                                                                 \
        CHALK_SKIP("no cgroup here that we may write to: run as root or with delegated cgroups");                      \
    }

/// Leaves the test as skipped where namespaces cannot be used.
#define CHALK_NEEDS_NAMESPACES(fixture)                                                                                \
    REQUIRE(chalk::bundle::find_helper("chalk-nest")); /* of this build: its absence is no reason to skip */           \
    if (const std::string why = (fixture).why_not(); !why.empty()) {                                                   \
        CHALK_SKIP(why);                                                                                               \
    }
