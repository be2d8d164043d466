#include "cli/cluster/run_sheet.hpp"

#include "cli/cluster/sheets.test.hpp"
#include "protocol/core/json_text.hpp"

using namespace chalk;
using namespace chalk::cli;

namespace {

constexpr const char* small_base = R"("use_fake_model": true)";

json small_run_sheet(test::sweep_workspace& here) {
    const auto site = here.plan(small_base, R"(, "axes": {"task_args.x": [1, 2]}, "repeat": 3)").value();
    return json::parse(run_sheet_text(*site->order({1, 2}, attempt_number{4})).value());
}

} // namespace

TEST_CASE("a run's sheet says what is its own, without what is at its default", "[run_sheet]") {
    test::sweep_workspace here;
    const auto site = here.plan(small_base, R"(, "axes": {"task_args.x": [1, 2]}, "repeat": 3)").value();
    const auto order = site->order({1, 2}, attempt_number{4});
    const auto text = run_sheet_text(*order).value();
    CHECK(text.size() < 400);
    const auto sheet = json::parse(text);
    std::vector<std::string> keys;
    for (const auto& [key, value] : sheet["config"].items()) {
        keys.push_back(key);
    }
    CHECK(keys == std::vector<std::string>{"environment", "run_id", "seed", "task_args", "use_fake_model"});
    const auto read = read_run_sheet(text).value();
    CHECK(read.key == actors::run_key{1, 2});
    CHECK(read.attempt == attempt_number{4});
    CHECK(read.cell_label == "task_args.x=2");
    CHECK(read.task == order->header.task);
    auto config = order->config;
    config.transcript_file = config::run_config{}.transcript_file;
    CHECK(config::to_json(read.config) == config::to_json(config));
}

TEST_CASE("an order that is refused goes to no node", "[run_sheet]") {
    test::sweep_workspace here;
    const auto site = here.plan(small_base, "").value();
    auto order = *site->order({0, 0}, attempt_number{1});
    order.refused = task_failure("there is no such task");
    CHECK(run_sheet_text(order).error() == *order.refused);
    order.refused.reset();
    order.header.config["task_args"]["x"] = std::string(largest_run_sheet.count, 'x');
    const auto large = run_sheet_text(order);
    REQUIRE_FALSE(large);
    CHECK(large.error().kind == error_class::config);
    CHECK(large.error().message.find("too large for a cluster") != std::string::npos);
}

TEST_CASE("a config as deep as a file may have it fits into a run's sheet", "[run_sheet]") {
    test::sweep_workspace here;
    const auto levels = max_json_depth - 2; // of the object of arguments in the config
    const auto deep = std::string(levels, '[') + std::string(levels, ']');
    here.folder.write("deep.json",
                      R"({"environment": "one", "use_fake_model": true, "task_args": {"x": )" + deep + "}}");
    auto file = config::load_sweep_file(here.folder.write("s.json", R"({"name": "s", "base": "deep.json"})").string());
    INFO((file ? "" : file.error().message));
    REQUIRE(file);
    sweep_options asked;
    asked.how.no_containerized = true;
    asked.folder = here.folder.path() / "sweep";
    asked.dry_run = true;
    const auto site = sweep_site::prepare(here.io, std::move(*file), asked, {}).value();
    CHECK(read_run_sheet(run_sheet_text(*site->order({0, 0}, attempt_number{1})).value()));
}

TEST_CASE("a run's sheet that is not as a coordinator writes it is refused with its path", "[run_sheet]") {
    test::sweep_workspace here;
    const auto good = small_run_sheet(here);
    REQUIRE(read_run_sheet(good.dump()));
    const auto refusal = [&](const std::string& pointer, const json& value) {
        auto sheet = good;
        sheet[json::json_pointer(pointer)] = value;
        const auto read = read_run_sheet(sheet.dump());
        REQUIRE_FALSE(read);
        CHECK(read.error().kind == error_class::harness);
        return read.error().message;
    };
    const auto says = [](const std::string& message, const std::string& part) {
        INFO(message);
        return message.find(part) != std::string::npos;
    };
    CHECK(says(refusal("/sheet", 0), "the sheet of a run: sheet: "));
    CHECK(says(refusal("/more", 0), ": more: unknown key"));
    CHECK(says(refusal("/cell", 9'223'372'036'854'775'808U), ": cell: "));
    CHECK(says(refusal("/index", -1), ": index: "));
    CHECK(says(refusal("/attempt", 0), ": attempt: expected a whole number from 1 to 4294967295"));
    CHECK(says(refusal("/attempt", 4'294'967'296), ": attempt: "));
    CHECK(says(refusal("/config/run_id", nullptr), ": config.run_id: is missing"));
    CHECK(says(refusal("/config/run_id", "../x"), "run_id"));
    CHECK(says(refusal("/config/transcript_file", "/etc/x"), ": config.transcript_file: is the node's own"));
    CHECK(says(refusal("/config/modle", "x"), "modle: unknown key; did you mean \"model\"?"));
    CHECK(says(refusal("/config/limits", {{"max_turns", 0}}), "limits.max_turns: expected"));
    CHECK(says(refusal("/config", json::array()), "expected an object"));
    CHECK(says(read_run_sheet(std::string(largest_run_sheet.count + 1, ' ')).error().message, "longer than"));
}
