#include "actors/cluster_node.hpp"

#include "actors/cluster/link_system.hpp"
#include "actors/cluster/links.hpp"
#include "protocol/net/io_thread.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/temporary_folder.hpp"

#include <fmt/format.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

#include <sys/socket.h>

using namespace chalk;
using namespace chalk::actors;
using namespace std::chrono_literals;

namespace {

/// What a test waits for; what happens on actors' threads is noted here.
class noted_facts {
  public:
    template<class Change>
    void change(Change what) {
        const std::lock_guard lock(mutex_);
        what(*this);
        changed_.notify_all();
    }
    template<class Condition>
    [[nodiscard]] bool wait(Condition holds) {
        std::unique_lock lock(mutex_);
        return changed_.wait_for(lock, 60s, [&] { return holds(*this); });
    }

    int links_wanted = 0;
    bool left = false;
    std::vector<std::string> said;
    std::vector<lease_number> shown; ///< in hellos
    std::set<assignment_name> kept;  ///< as it was last said
    std::map<assignment_name, int> made;
    std::map<assignment_name, std::string> ended;
    std::set<assignment_name> forgotten;
    std::vector<lease_number> given_up;
    bool cut = false;
    bool answers = true; ///< that a result was taken

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
};
using facts_ptr = std::shared_ptr<noted_facts>;

class noop_supply final : public node_supply {
  public:
    explicit noop_supply(facts_ptr facts) : facts_(std::move(facts)) {}

    void make_order(std::shared_ptr<const std::string> sweep_sheet, const assignment_name& name,
                    const std::string& run_sheet, const std::filesystem::path& folder,
                    std::function<void(result<order_ptr>)> done) override {
        facts_->change([&](noted_facts& f) { ++f.made[name]; });
        if (*sweep_sheet != "the sweep" || run_sheet != "a run" || !std::filesystem::is_directory(folder)) {
            done(harness_failure("wrong sheets"));
            return;
        }
        if (name.run.index % 10 == 9) {
            done(failure{error_class::image, "no such image"});
            return;
        }
        auto order = std::make_shared<run_order>();
        order->key = name.run;
        order->attempt = name.attempt;
        order->config.id = run_id::parse(fmt::format("r{}", name.run.index)).value();
        order->config.environment = config::noop_environment;
        order->config.use_fake_model = true;
        order->config.fake.script = json::array({json::array({{{"text", "done"}}})});
        order->config.transcript_file = folder / "transcript.json";
        order->header.run_id = order->config.id.str();
        order->header.config = json::object();
        order->reservation = {.memory = {}, .disk = {}, .processes = 0, .milli_cpus = 1, .open_files = 0};
        order->sandboxed = false;
        order->transcript = false;
        order->mcp_port = false;
        done(order_ptr(std::move(order)));
    }
    void land(const assignment_name&, const std::filesystem::path&, std::function<void(result<void>)> done) override {
        done({});
    }
    void forget(const assignment_name& name) override {
        facts_->change([&](noted_facts& f) { f.forgotten.insert(name); });
    }
    node_offer offer() override { return {"0.1.0", {}, {"none"}, {}, {}}; }
    std::string result_sheet(const run_result& what) override {
        return what.how.kind ? std::string(to_string(*what.how.kind)) : std::string(to_string(what.how.status));
    }
    std::string spending_sheet(const journal::spending&) override { return "{}"; }
    std::optional<std::string> probe() override { return std::nullopt; }
    void lease_moved(node_time) override {}
    void want_link() override {
        facts_->change([](noted_facts& f) { ++f.links_wanted; });
    }
    void say(const std::string& text) override {
        facts_->change([&](noted_facts& f) { f.said.push_back(text); });
    }
    void left() override {
        facts_->change([](noted_facts& f) { f.left = true; });
    }

  private:
    facts_ptr facts_;
};

using far_coordinator = coordinator_port::extend<caf::reacts_to<peer_linked>, caf::reacts_to<link_failed>,
                                                 caf::reacts_to<link_lost>, caf::reacts_to<caf::ok_atom>>;

struct coordinator_plan {
    std::uint64_t runs = 0;
    std::uint64_t cut_after = 0; ///< results; 0: never
    facts_ptr facts;
    std::shared_ptr<std::function<void(link_number)>> cut;
};

/// By the rules of ADR 14, for one node that is never lost.
far_coordinator::behavior_type coordinate(far_coordinator::pointer self, const coordinator_plan& plan) {
    struct books {
        node_port node;
        link_number link{};
        std::optional<lease_number> lease;
        std::uint64_t leases = 0;
        std::set<assignment_name> taken;
        std::set<assignment_name> ended;
        std::vector<run_ended> unanswered;
        bool cut = false;
    };
    auto b = std::make_shared<books>();
    const auto name_of = [](std::uint64_t i) { return assignment_name{{0, i}, attempt_number{1}, {1, i + 1}}; };
    return {
        [=](const hello& m) {
            b->node = caf::actor_cast<node_port>(self->current_sender());
            plan.facts->change([&](noted_facts& f) { f.shown.push_back(m.held); });
            if (b->lease && *b->lease != m.held) {
                self->send(b->node, join_refused{"alive"});
                return;
            }
            if (!b->lease) {
                b->lease = lease_number{1, ++b->leases};
            }
            self->send(b->node, lease_granted{*b->lease, milliseconds(60'000), m.asked});
        },
        [=](const renew_lease& m) {
            self->send(b->node, lease_renewed{m.number, milliseconds(60'000), m.asked});
        },
        [=](const lease_given_up& m) {
            b->lease.reset();
            plan.facts->change([&](noted_facts& f) { f.given_up.push_back(m.number); });
        },
        [=](const runs_kept& m) {
            plan.facts->change([&](noted_facts& f) { f.kept = m.ended; });
            self->send(b->node, sweep_described{"the sweep"});
            for (std::uint64_t i = 0; i < plan.runs; ++i) {
                const auto name = name_of(i);
                if (!b->ended.contains(name) && !m.running.contains(name) && !m.ended.contains(name)) {
                    self->send(b->node, run_assigned{name, "a run"});
                }
            }
        },
        [=](const run_ended& m) {
            const bool first = b->ended.insert(m.name).second;
            bool answers = true;
            plan.facts->change([&](noted_facts& f) {
                f.ended.emplace(m.name, m.sheet);
                answers = f.answers;
            });
            if (first && plan.cut_after != 0 && !b->cut && b->ended.size() >= plan.cut_after) {
                b->cut = true;
                (*plan.cut)(b->link);
                plan.facts->change([](noted_facts& f) { f.cut = true; });
            }
            if (answers) {
                self->send(b->node, result_taken{m.name});
            }
        },
        [](const run_noted&) {},
        [](const node_told&) {},
        [](const digest_changed&) {},
        [](const node_probed&) {},
        [=](const peer_linked& m) {
            b->link = m.number;
            if (m.root) {
                self->send(caf::actor_cast<node_port>(m.root), call_in{});
            }
        },
        [](const link_failed&) {},
        [](const link_lost&) {},
        [=](caf::ok_atom) { self->send(b->node, sweep_over{}); },
    };
}

/// The other process of the cluster.
class coordinator_side {
  public:
    coordinator_side(facts_ptr facts, std::uint64_t runs, std::uint64_t cut_after)
        : root_(system_.spawn(coordinate, coordinator_plan{runs, cut_after, std::move(facts), cut_})),
          links_(system_, library_, caf::actor_cast<link_owner>(root_)) {
        *cut_ = [this](link_number which) { links_.cut(which, "the test cuts it"); };
        links_.publish(caf::actor_cast<coordinator_port>(root_));
    }
    coordinator_side(const coordinator_side&) = delete;
    coordinator_side& operator=(const coordinator_side&) = delete;
    ~coordinator_side() { caf::anon_send_exit(root_, caf::exit_reason::user_shutdown); }

    void link_with(cluster_node& node, bool calls) {
        int ends[2] = {-1, -1};
        REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
        if (calls) {
            node.adopt("coordinator", unique_fd(ends[0]));
            links_.connect<node_port>("node", unique_fd(ends[1]));
        } else {
            links_.adopt("node", unique_fd(ends[1]));
            node.connect("coordinator", unique_fd(ends[0]));
        }
    }
    void end_sweep() { caf::anon_send(root_, caf::ok_atom::value); }

  private:
    const link_library& library_ = **load_link_library();
    link_system_settings settings_{{}, library_};
    caf::actor_system system_{settings_};
    std::shared_ptr<std::function<void(link_number)>> cut_ = std::make_shared<std::function<void(link_number)>>();
    far_coordinator root_;
    links links_;
};

std::unique_ptr<cluster_node> start_noop_node(io_thread& io, const facts_ptr& facts,
                                              const std::filesystem::path& folder) {
    cluster_node_settings settings;
    settings.name = node_id::parse("n1").value();
    settings.supply = std::make_shared<noop_supply>(facts);
    settings.folder = folder;
    settings.capacity = {.memory = {}, .disk = {}, .processes = 0, .milli_cpus = 8, .open_files = 0};
    settings.pool_threads = 3;
    auto node = cluster_node::start(io.context(), std::move(settings));
    REQUIRE(node);
    return std::move(*node);
}

bool is_empty_spool(const std::filesystem::path& folder) {
    return std::filesystem::is_empty(folder / "spool");
}

} // namespace

TEST_CASE("a node runs what its coordinator gives it, each once, over a link that is cut and made again") {
    const bool calls = GENERATE(false, true);
    INFO("the coordinator " << (calls ? "calls" : "is called"));
    constexpr std::uint64_t runs = 200;
    const test::temporary_folder folder;
    const auto facts = std::make_shared<noted_facts>();
    io_thread io;
    auto node = start_noop_node(io, facts, folder.path());
    {
        coordinator_side coordinator(facts, runs, 60);
        coordinator.link_with(*node, calls);
        REQUIRE(facts->wait([](const noted_facts& f) { return f.cut && f.links_wanted >= 2; }));
        coordinator.link_with(*node, calls);
        CHECK(facts->wait([](const noted_facts& f) { return f.forgotten.size() == runs; }));
        coordinator.end_sweep();
        CHECK(facts->wait([](const noted_facts& f) { return !f.given_up.empty(); }));
        node->quit();
        CHECK(facts->wait([](const noted_facts& f) { return f.left; }));
    }
    node.reset();
    CHECK(facts->shown == std::vector{lease_number{}, lease_number{1, 1}});
    CHECK(facts->given_up == std::vector{lease_number{1, 1}});
    CHECK(facts->made.size() == runs);
    CHECK(facts->ended.size() == runs);
    for (const auto& [name, times] : facts->made) {
        INFO("run " << name.run.index);
        CHECK(times == 1);
        CHECK(facts->ended[name] == (name.run.index % 10 == 9 ? "image" : "passed"));
    }
    CHECK(is_empty_spool(folder.path()));
}

TEST_CASE("a node that was started again delivers what the last one had finished, and joins anew") {
    constexpr std::uint64_t runs = 20;
    const test::temporary_folder folder;
    const auto facts = std::make_shared<noted_facts>();
    facts->answers = false;
    io_thread io;
    coordinator_side coordinator(facts, runs, 0);
    auto node = start_noop_node(io, facts, folder.path());
    coordinator.link_with(*node, false);
    REQUIRE(facts->wait([](const noted_facts& f) { return f.ended.size() == runs; }));
    node.reset(); // it is killed
    CHECK_FALSE(facts->left);
    facts->change([](noted_facts& f) { f.answers = true; });
    node = start_noop_node(io, facts, folder.path());
    coordinator.link_with(*node, false);
    CHECK(facts->wait([](const noted_facts& f) { return f.shown.size() == 3; }));
    CHECK(facts->shown == std::vector{lease_number{}, lease_number{1, 1}, lease_number{}});
    CHECK(facts->given_up == std::vector{lease_number{1, 1}});
    CHECK(facts->forgotten.size() == runs);
    node->quit();
    CHECK(facts->wait([](const noted_facts& f) { return f.left; }));
    node.reset();
    CHECK(facts->made.size() == runs);
    for (const auto& [name, times] : facts->made) {
        CHECK(times == 1);
    }
    CHECK(is_empty_spool(folder.path()));
}
