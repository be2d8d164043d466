#include "cli/cluster/sweep_sheet.hpp"

#include "cli/cluster/sheets.test.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/store/tree_manifest.hpp"

#include <algorithm>

using namespace chalk;
using namespace chalk::cli;
using namespace std::chrono_literals;

namespace {

const std::string two_environments =
    R"(, "axes": {"environment": ["one", "two", "builtin:noop"]}, "deadlines": {"score_s": 3, "run_s": 9})";

json sheet_of_two(test::sweep_workspace& here) {
    const auto site = here.plan(R"("use_fake_model": true)", two_environments).value();
    const auto trees = read_environment_trees(*site).value();
    return json::parse(sweep_sheet_text(describe_sweep(*site, "an id", trees)).value());
}

} // namespace

TEST_CASE("a sweep's sheet says what its runs have in common and comes back as it was", "[sweep_sheet]") {
    test::sweep_workspace here;
    const auto site = here.plan(R"("use_fake_model": true)", two_environments).value();
    const auto trees = read_environment_trees(*site).value();
    const auto sheet = describe_sweep(*site, "an id", trees);
    CHECK(sheet.environments.size() == 3);
    CHECK(sheet.deadlines.whole_run == 9'000ms);
    const auto text = sweep_sheet_text(sheet).value();
    const auto read = read_sweep_sheet(text);
    INFO((read ? "" : read.error().message));
    REQUIRE(read);
    CHECK(sweep_sheet_text(*read).value() == text);
    CHECK(read->id == "an id");
    CHECK(read->name == "s");
    CHECK(read->runtime == no_runtime);
    CHECK(read->deadlines == sheet.deadlines);
    for (const auto& [name, one] : site->environments()) {
        const auto* described = read->find(name.string());
        REQUIRE(described != nullptr);
        CHECK(described->digest == one.prepared.environment.digest);
        CHECK(described->limits == one.prepared.limits.sandbox);
        CHECK(described->reservation == one.prepared.limits.reservation);
        CHECK(described->tree.has_value() == (name != config::noop_environment));
    }
    CHECK(read->find("three") == nullptr);
    // No path of this machine but the names.
    auto bare = json::parse(text);
    for (auto& one : bare["environments"]) {
        one.erase("name");
    }
    CHECK(bare.dump().find('/') == std::string::npos);
}

TEST_CASE("every limit and deadline of a sweep's sheet comes back, whatever it is", "[sweep_sheet]") {
    sweep_sheet sheet;
    sheet.id = "x";
    sheet.runtime = "namespaces";
    sheet.keep = true;
    sheet.reach = firewall::network_reach::internal;
    sheet.deadlines = {1ms, 2ms, 3ms, 4ms, 5ms, 6ms, 7ms, 8ms, 9ms, 10ms, 11ms, 12ms, 13ms, 14ms, 15ms};
    sheet_environment one;
    one.name = "/e";
    one.digest = "sha256:" + std::string(64, 'a');
    one.tree = store::tree_manifest().digest();
    one.limits = {bytes{1}, bytes{2}, bytes{3}, bytes{4}, 5, 6};
    one.reservation = {bytes{1}, bytes{2}, 3, 4, 5};
    sheet.environments.push_back(one);
    const auto read = read_sweep_sheet(sweep_sheet_text(sheet).value()).value();
    CHECK(read.keep);
    CHECK(read.reach == firewall::network_reach::internal);
    CHECK(read.deadlines == sheet.deadlines);
    CHECK(read.environments.front().limits == one.limits);
    CHECK(read.environments.front().reservation == one.reservation);
    CHECK(read.environments.front().tree == one.tree);
    sheet.environments.resize(most_sheet_environments + 1, one);
    CHECK(sweep_sheet_text(sheet).error().kind == error_class::config);
}

TEST_CASE("a sweep's sheet that is not as a coordinator writes it is refused with its path", "[sweep_sheet]") {
    test::sweep_workspace here;
    const auto good = sheet_of_two(here);
    REQUIRE(read_sweep_sheet(good.dump()));
    const auto refusal = [&](const std::string& pointer, const json& value) {
        auto sheet = good;
        sheet[json::json_pointer(pointer)] = value;
        const auto read = read_sweep_sheet(sheet.dump());
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::harness);
        return read.error().message;
    };
    const auto says = [](const std::string& message, const std::string& part) {
        INFO(message);
        return message.find(part) != std::string::npos;
    };
    CHECK(says(refusal("/sheet", 2), "the sheet of a sweep: sheet: "));
    CHECK(says(refusal("/rootfs", "/x"), ": rootfs: unknown key"));
    CHECK(says(refusal("/id", ""), ": id: must not be empty"));
    CHECK(says(refusal("/student_network", ""), ": student_network: expected internal or local"));
    CHECK(says(refusal("/deadlines_ms/setup", -1), ": deadlines_ms.setup: expected a whole number from 0"));
    CHECK(says(refusal("/deadlines_ms/more", 1), ": deadlines_ms.more: unknown key"));
    CHECK(says(refusal("/environments/1/limits/processes", 4'294'967'296), ": environments[1].limits.processes: "));
    CHECK(says(refusal("/environments/1/reservation/memory_bytes", 1.5), ".reservation.memory_bytes: "));
    const auto noop =
        static_cast<std::size_t>(std::find_if(good["environments"].begin(), good["environments"].end(),
                                              [](const json& one) { return one["name"] == "builtin:noop"; }) -
                                 good["environments"].begin());
    const auto other = noop == 0 ? 1 : 0;
    const auto at = [](std::size_t index, const char* key) { return fmt::format("/environments/{}/{}", index, key); };
    CHECK(says(refusal(at(noop, "tree"), std::string(64, 'a')), ".tree: this environment has no files"));
    CHECK(says(refusal(at(other, "tree"), "abc"), ".tree: expected 64"));
    CHECK(says(refusal(at(other, "digest"), std::string(64, 'a')), ".digest: expected sha256:"));
    CHECK(says(refusal(at(other, "name"), "builtin:noop"), ".tree: this environment has no files"));
    CHECK(says(refusal(at(2, "name"), good["environments"][1]["name"]), ".name: is there twice"));
    CHECK(says(refusal("/runtime", "namespaces"), ".name: builtin:noop has no sandbox"));
}

TEST_CASE("a sweep's id is the same whoever opens its journal, and another in another folder", "[sweep_sheet]") {
    const test::temporary_folder folder;
    journal::sweep_opened opened;
    opened.at = wall_time(std::chrono::milliseconds(1'700'000'000'123));
    opened.name = "s";
    opened.file_digest = "sha256:x";
    const auto id = sweep_id_of(opened, folder.path());
    CHECK(id.size() == 32);
    CHECK(id == sweep_id_of(opened, folder.path() / "." / "x" / ".."));
    // Before the folder is made and after, and by way of a link.
    const auto early = sweep_id_of(opened, folder.path() / "later");
    std::filesystem::create_directory(folder.path() / "later");
    std::filesystem::create_directory_symlink("later", folder.path() / "link");
    CHECK(early == sweep_id_of(opened, folder.path() / "later/"));
    CHECK(early == sweep_id_of(opened, folder.path() / "link"));
    auto as_stored = opened;
    as_stored.at += std::chrono::microseconds(7);
    CHECK(id == sweep_id_of(as_stored, folder.path()));
    CHECK(id != sweep_id_of(opened, folder.path() / "other"));
    as_stored.at += 1ms;
    CHECK(id != sweep_id_of(as_stored, folder.path()));
}

TEST_CASE("an environment's tree has the files that its digest is over, and its chunks are in its folder",
          "[environment_trees]") {
    test::sweep_workspace here;
    const auto site = here.plan(R"("use_fake_model": true)", two_environments).value();
    const auto trees = read_environment_trees(*site).value();
    REQUIRE(trees.size() == 2);
    const auto& one = trees.front();
    CHECK(one.name == here.folder.path() / "one");
    const auto tree = store::tree_manifest::parse(one.manifest).value();
    CHECK(tree.digest() == one.digest);
    std::vector<std::string> paths;
    for (const auto& entry : tree.entries()) {
        paths.push_back(entry.path);
    }
    CHECK(paths == std::vector<std::string>{"bin", "bin/program", "nothing", "pyproject.toml", "root_data",
                                            "root_data/large", "src", "src/environment", "src/environment/__init__.py",
                                            "src/link"});
}

TEST_CASE("an environment that cannot go to a node, or changes meanwhile, is refused", "[environment_trees]") {
    test::sweep_workspace here;
    const auto site = here.plan(R"("use_fake_model": true)", "").value();
    here.folder.write("one/more", "x");
    const auto changed = read_environment_trees(*site);
    REQUIRE_FALSE(changed);
    CHECK(changed.error().kind == error_class::config);
    CHECK(changed.error().message.find("was changed while") != std::string::npos);
    std::filesystem::create_symlink("/etc/passwd", here.folder.path() / "one/outside");
    const auto again = here.plan(R"("use_fake_model": true)", "").value();
    const auto leads_out = read_environment_trees(*again);
    REQUIRE_FALSE(leads_out);
    CHECK(leads_out.error().message.find("outside") != std::string::npos);
}
