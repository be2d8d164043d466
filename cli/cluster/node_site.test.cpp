#include "cli/cluster/node_site.hpp"

#include "cli/cluster/sheets.test.hpp"
#include "protocol/store/materialise.hpp"
#include "protocol/store/read_tree.hpp"
#include "runtimes/image/environment.hpp"

#include <cstdlib>

using namespace chalk;
using namespace chalk::cli;
namespace fs = std::filesystem;

namespace {

/// As a node has it: by way of chunks and manifest, in a folder of its own.
fs::path fetched_environment(const test::temporary_folder& node, const environment_tree& tree) {
    auto cache = store::chunk_cache::open(node.path() / "cache", {64_MiB, milliseconds{5000}}).value();
    store::read_tree_options options;
    options.leave_out = [](const std::string& path) { return image::is_left_out(path); };
    options.on_chunk = [&](const store::chunk_digest& name, std::string_view data) -> result<void> {
        auto put = cache->put(name, data);
        return put ? result<void>() : put.error().as_failure();
    };
    REQUIRE(store::read_tree(tree.folder, options));
    const auto manifest = store::tree_manifest::parse(tree.manifest).value();
    const auto target = node.path() / tree.digest.hex();
    const auto missing = store::materialise(manifest, *cache, target, store::durability::until_restart);
    REQUIRE(missing);
    REQUIRE(missing->empty());
    return target;
}

/// All that a run sees of its order, but the paths.
json seen_by_run(const actors::run_order& order) {
    const auto without_paths = [](json config) {
        config.erase("environment");
        config.erase("transcript_file");
        return config;
    };
    const auto& header = order.header;
    json out = {{"key", {order.key.cell, order.key.index}},
                {"attempt", static_cast<std::uint32_t>(order.attempt)},
                {"label", order.cell_label},
                {"config", without_paths(config::to_json(order.config))},
                {"header",
                 {header.run_id, header.attempt, header.environment, header.environment_digest, header.task,
                  header.agent, header.model, header.runtime, header.chalk_version, without_paths(header.config)}},
                {"switches", {order.sandboxed, order.prepare_only, order.transcript, order.mcp_port}},
                {"refused", order.refused ? order.refused->message : ""},
                {"note", order.host_note},
                {"artifacts", !order.artifacts_folder.empty()},
                {"backend", nullptr},
                {"models", nullptr}};
    if (order.backend) {
        out["backend"] = {order.backend->to.uri, order.backend->of.run_id, order.backend->of.attempt};
    }
    if (order.models) {
        out["models"] = {order.models->models, order.models->base_url, order.models->budget.tokens.value_or(0),
                         order.models->budget.usd.value_or(0), order.models->seed};
    }
    const auto& request = order.request;
    json mask = json::array();
    for (const auto& path : request.environment.mask) {
        mask.push_back(path.string());
    }
    out["request"] = {request.id.str(),      request.environment.digest, mask,   request.keep,
                      request.mounts.size(), request.rootfs.has_value(), nullptr};
    if (request.student_network) {
        out["request"].back() = {request.student_network->student, request.student_network->closed_ports,
                                 firewall::to_string(request.student_network->reach)};
    }
    return out;
}

/// A coordinator, and a node that has all of its environments.
struct sheet_pair {
    test::sweep_workspace here;
    test::temporary_folder node;
    std::unique_ptr<sweep_site> coordinator;
    std::unique_ptr<node_site> site;
    std::map<std::string, fs::path> folders;

    void make(const std::string& base, const std::string& members, bool contained, const run_options& how = {}) {
        auto planned = here.plan(base, members, contained, how);
        INFO((planned ? "" : planned.error().message));
        REQUIRE(planned);
        coordinator = std::move(*planned);
        const auto trees = read_environment_trees(*coordinator).value();
        auto sheet = read_sweep_sheet(sweep_sheet_text(describe_sweep(*coordinator, "id", trees)).value()).value();
        site = node_site::make(std::move(sheet), coordinator->common().sandboxes, {}).value();
        for (const auto& tree : trees) {
            folders[tree.name.string()] = fetched_environment(node, tree);
        }
    }
    void prepare_all() {
        for (const auto& one : site->sheet().environments) {
            const auto done = site->prepare(one.name, folders[one.name]);
            INFO((done ? "" : done.error().message));
            REQUIRE(done);
        }
    }
    fs::path attempt_folder() const { return node.path() / "spool" / "attempt"; }

    void check_same_orders() {
        const auto& runs = coordinator->runs();
        const auto& matrix = runs.matrix();
        for (auto cell = matrix.next_kept(0); cell; cell = matrix.next_kept(*cell + 1)) {
            for (std::uint64_t repeat = 0; repeat < runs.repeats(); ++repeat) {
                check_same_order({*cell, repeat}, attempt_number{static_cast<std::uint32_t>(repeat + 1)});
            }
        }
    }
    void check_same_order(actors::run_key key, attempt_number attempt) {
        const auto own = coordinator->order(key, attempt);
        const auto text = run_sheet_text(*own).value();
        const auto sheet = read_run_sheet(text);
        INFO((sheet ? "" : sheet.error().message));
        REQUIRE(sheet);
        const auto made = site->order(*sheet, attempt_folder());
        INFO(own->config.environment.string());
        CHECK(seen_by_run(*made) == seen_by_run(*own));
        CHECK(made->deadlines == own->deadlines);
        CHECK(made->reservation == own->reservation);
        CHECK(made->request.limits == own->request.limits);
        check_paths(*own, *made, text);
    }
    void check_paths(const actors::run_order& own, const actors::run_order& made, const std::string& text) {
        const auto sweep_folder = (here.folder.path() / "sweep").string();
        CHECK(text.find(sweep_folder) == std::string::npos);
        CHECK(made.config.transcript_file == attempt_folder() / "transcript.json");
        CHECK(sweep_folder + "/" + made.header.config["transcript_file"].get<std::string>() ==
              own.config.transcript_file.string());
        if (own.config.environment == config::noop_environment) {
            CHECK(made.config.environment == config::noop_environment);
            return;
        }
        const auto folder = folders[own.config.environment.string()];
        CHECK(made.config.environment == folder);
        CHECK(made.artifacts_folder == attempt_folder() / "transcript_artifacts");
        if (made.sandboxed) {
            CHECK(made.request.environment.folder == folder);
            CHECK(made.request.out_folder == made.artifacts_folder);
        }
    }
};

constexpr const char* fake_base = R"("use_fake_model": true, "fake_model": {"script": [[{"text": "hi"}]]})";
constexpr const char* model_base =
    R"("model": "openai_compatible/m", "model_args": {"base_url": "http://models:1/v1", "temperature": 0.5},
       "limits": {"max_turns": 5, "max_run_total_tokens": 500, "max_run_usd": 0.25},
       "task": "t", "task_args": {"a": {"b": [1, null]}}, "backend_uri": "http://backend:2/x",
       "extra_config": {"extra_artifact_paths": ["x"], "deep": {"er": {}}})";

} // namespace

TEST_CASE("an order that a node makes of the sheets is the coordinator's, but for paths", "[node_site]") {
    sheet_pair without;
    without.make(fake_base,
                 R"(, "repeat": 2, "deadlines": {"agent_s": 4}, "axes": {
                            "environment": ["one", "two", "builtin:noop"], "seed_of_theirs": [{"task_args.x": 1}]})",
                 false);
    without.prepare_all();
    without.check_same_orders();
    sheet_pair with_model;
    with_model.make(model_base, R"(, "repeat": 2, "axes": {"model_args.top_p": [0.1, 0.9]})", false);
    with_model.prepare_all();
    with_model.check_same_orders();
}

TEST_CASE("the same of orders for sandboxes, their limits and what their students reach", "[node_site]") {
    ::setenv("CHALK_STUDENT_NETWORK", "internal", 1);
    run_options how;
    how.memory = 200_MiB;
    how.disk = 50_MiB;
    how.keep = true;
    sheet_pair pair;
    pair.make(model_base, R"(, "axes": {"agent": ["builtin", "codex"], "environment": ["one", "two"],
                                            "mcp_server_config.port": [0, 7000]})",
              true, how);
    pair.prepare_all();
    pair.check_same_orders();
    const auto order = pair.coordinator->order({0, 0}, attempt_number{1});
    CHECK(order->request.limits.memory == 200_MiB);
    CHECK(order->request.student_network->reach == firewall::network_reach::internal);
    // A node's operator who says nothing has the sweep's word, and one who does may be stricter.
    const auto name = order->config.environment.string();
    const auto sheet = read_run_sheet(run_sheet_text(*order).value()).value();
    const auto reach_there = [&] {
        auto other = node_site::make(pair.site->sheet(), pair.coordinator->common().sandboxes, {}).value();
        REQUIRE(other->prepare(name, pair.folders[name]));
        return other->order(sheet, pair.attempt_folder())->request.student_network->reach;
    };
    ::unsetenv("CHALK_STUDENT_NETWORK");
    CHECK(reach_there() == firewall::network_reach::internal);
    ::setenv("CHALK_STUDENT_NETWORK", "local", 1);
    CHECK(reach_there() == firewall::network_reach::local);
    ::setenv("CHALK_STUDENT_NETWORK", "everything", 1);
    CHECK(node_site::make(pair.site->sheet(), pair.coordinator->common().sandboxes, {}).has_error());
    ::unsetenv("CHALK_STUDENT_NETWORK");
    const auto none = node_site::make(pair.site->sheet(), nullptr, {});
    REQUIRE_FALSE(none);
    CHECK(none.error().code == exit_code::machine_lacks);
    CHECK(none.error().message.find("needs the runtime namespaces; this node has none") != std::string::npos);
}

TEST_CASE("an environment is prepared once, kept until it is dropped, and held against its digest", "[node_site]") {
    sheet_pair pair;
    pair.make(fake_base, R"(, "axes": {"environment": ["one", "two"]})", false);
    auto& site = *pair.site;
    const auto one = (pair.here.folder.path() / "one").string();
    const auto two = (pair.here.folder.path() / "two").string();
    const auto run =
        read_run_sheet(run_sheet_text(*pair.coordinator->order({0, 0}, attempt_number{1})).value()).value();
    REQUIRE(run.config.environment == one);
    const auto early = site.order(run, pair.attempt_folder());
    REQUIRE(early->refused);
    CHECK(early->refused->kind == error_class::harness);
    CHECK(early->refused->message.find("was not prepared on this node") != std::string::npos);

    const auto wrong = site.prepare(one, pair.folders[two]);
    REQUIRE_FALSE(wrong);
    CHECK(wrong.error().message.find("has the digest sha256:") != std::string::npos);
    CHECK_FALSE(site.holds(one));
    CHECK(site.prepare(one, pair.node.path() / "nothing").error().kind == error_class::harness);
    CHECK(site.prepare("three", pair.folders[one]).error().message.find("has no environment three") !=
          std::string::npos);

    REQUIRE(site.prepare(one, pair.folders[one]));
    CHECK(site.holds(one));
    CHECK_FALSE(site.holds(two));
    CHECK_FALSE(site.order(run, pair.attempt_folder())->refused);
    // Asked again it reads nothing, or this would fail.
    fs::remove(pair.folders[one] / "pyproject.toml");
    CHECK(site.prepare(one, pair.folders[one]));
    site.drop(one);
    CHECK_FALSE(site.holds(one));
    CHECK(site.prepare(one, pair.folders[one]).error().kind == error_class::harness);
    CHECK(site.order(run, pair.attempt_folder())->refused);
    site.drop("three");
}
