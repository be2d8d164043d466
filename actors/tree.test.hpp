/// A whole tree on one thread and in virtual time: a stand-in for the runtime that records what it is asked, and a
/// watcher that keeps what it hears.
#pragma once

#include "actors/sweep/interfaces.hpp"
#include "actors/system.hpp"
#include "tests/support/catch.hpp"
#include "tests/support/recording_runtime.hpp"
#include "tests/support/temporary_folder.hpp"

#include <caf/scheduler/test_coordinator.hpp>
#include <fmt/format.h>

#include <deque>
#include <fstream>
#include <set>

namespace chalk::test {

using namespace chalk::actors; // of a test's own helpers

/// Runs work when the test says so, on the test's thread.
class manual_pool final : public blocking_pool {
  public:
    void submit(std::function<void()> work) override { queue_.push_back(std::move(work)); }
    void shut_down() override { queue_.clear(); }
    bool run_all() {
        const bool any = !queue_.empty();
        while (!queue_.empty()) {
            const auto work = std::move(queue_.front());
            queue_.pop_front();
            work();
        }
        return any;
    }

  private:
    std::deque<std::function<void()>> queue_;
};

class recording_watcher final : public watcher {
  public:
    bool wants_events() const noexcept override { return true; }
    void run_began(const run_order& order) override { began.push_back(order.config.id.str()); }
    void run_event(const run_order& order, const event_ptr& e) override {
        if (explode_on == order.config.id.str()) {
            throw std::runtime_error("the watcher exploded");
        }
        events.emplace_back(order.config.id.str(), e);
    }
    void run_prepared(const run_order& order) override { prepared.push_back(order.config.id.str()); }
    void run_finished(const run_result& what, const sweep_counts&) override {
        REQUIRE(results.emplace(what.order->config.id.str(), what).second);
    }
    void attempt_finished(const run_result& what, const sweep_counts&) override { attempts.push_back(what); }
    void sweep_said(const std::string& text) override { said.push_back(text); }
    void sweep_finished(const sweep_counts& counts, const std::optional<failure>& trouble) override {
        REQUIRE_FALSE(ended);
        ended = counts;
        gave_up = trouble;
    }

    std::string explode_on;
    std::vector<std::string> began;
    std::vector<std::pair<std::string, event_ptr>> events;
    std::vector<std::string> prepared;
    std::map<std::string, run_result> results;
    std::vector<run_result> attempts; ///< that another one followed
    std::vector<std::string> said;
    std::optional<sweep_counts> ended;
    std::optional<failure> gave_up;
};

/// Stands in for the harness subtree of a --no-containerized run.
class fake_local_harness final : public local_harness {
  public:
    explicit fake_local_harness(bool crashes) : crashes_(crashes) {}
    harness_actor spawn(caf::local_actor* owner, event_sink sink) override {
        // With arguments rather than captures: CAF 0.17 dereferences a null pointer for a function without any.
        return owner->system().spawn(act, std::move(sink), crashes_);
    }
    bool has_folders() const noexcept override { return false; }
    result<std::optional<std::filesystem::path>> remove(bool) override {
        return std::optional<std::filesystem::path>{};
    }

  private:
    static harness_actor::behavior_type act(harness_actor::pointer self, const event_sink& sink, bool crashes) {
        if (crashes) {
            throw std::runtime_error("no such luck");
        }
        self->send(sink, events_recorded{
                             {std::make_shared<const event>(event{1, {}, log_line{}}),
                              std::make_shared<const event>(event{2, {}, task_completed{outcome_status::passed}})}});
        self->quit();
        return {[](const cancel_run&) {}, [](const event_flow&) {}};
    }

    bool crashes_;
};

struct test_system_settings : actor_system_settings {
    test_system_settings() : actor_system_settings({}) { set("scheduler.policy", caf::atom("testing")); }
};

/// A whole tree in virtual time, on one thread.
struct tree {
    chalk::test::temporary_folder folder;
    boost::asio::io_context io;
    std::shared_ptr<manual_pool> pool = std::make_shared<manual_pool>();
    std::shared_ptr<chalk::test::recording_runtime> sandboxes = std::make_shared<chalk::test::recording_runtime>();
    std::shared_ptr<recording_watcher> watch = std::make_shared<recording_watcher>();
    std::set<std::string> crashing_harnesses;
    bool sandboxed = true;
    bool prepare_only = false;
    std::optional<std::uint16_t> websocket_port;
    std::string host_note;
    resources capacity{
        .memory = 100_GiB, .disk = 100_GiB, .processes = 100'000, .milli_cpus = 100'000, .open_files = 9999};
    std::optional<std::size_t> max_runs;
    std::optional<gateway_site> models;
    std::optional<run_backend> backend;
    std::function<backend_sink(caf::local_actor*, backend_sink_options, backend_client)> spawn_sink =
        spawn_backend_sink;
    test_system_settings settings;
    caf::actor_system system{settings};
    caf::scheduler::test_coordinator& scheduler = dynamic_cast<caf::scheduler::test_coordinator&>(system.scheduler());
    sweep_actor sweep;

    ~tree() {
        caf::anon_send_exit(sweep, caf::exit_reason::kill); // a test that failed has not ended it
        sweep = nullptr;
        settle();
    }

    /// "r3", of another cell "c1r3"; of a later attempt "r3a2", so that a test tells its sandbox from the first one's.
    static run_id name_of(run_key key, attempt_number attempt) {
        const auto number = static_cast<std::uint32_t>(attempt);
        return run_id::parse(fmt::format("{}r{}{}", key.cell == 0 ? "" : fmt::format("c{}", key.cell), key.index,
                                         number == 1 ? "" : fmt::format("a{}", number)))
            .value();
    }

    order_ptr order(run_key key, attempt_number attempt = attempt_number{1}) const {
        auto o = std::make_shared<run_order>();
        o->key = key;
        o->attempt = attempt;
        o->config.id = name_of(key, attempt);
        o->config.transcript_file = folder.path() / "out" / (o->config.id.str() + ".json");
        o->artifacts_folder = folder.path() / "out" / (o->config.id.str() + "_artifacts");
        o->header.run_id = o->config.id.str();
        o->header.config = json::object();
        o->reservation = {.memory = 1_GiB, .disk = 1_GiB, .processes = 1, .milli_cpus = 1, .open_files = 1};
        o->sandboxed = sandboxed;
        o->prepare_only = prepare_only;
        o->config.websocket_port = websocket_port;
        o->host_note = host_note;
        o->request.id = o->config.id;
        o->backend = backend;
        if (models) {
            o->models = {{"openai/m"}, {}, {}, "0-0"};
        }
        return o;
    }

    void start(std::size_t runs) { start(one_cell(runs)); }

    /// `change` may set what the tests of sweeps need.
    void start(schedule plan, const std::function<void(sweep_settings&)>& change = {}) {
        auto services = std::make_shared<run_services>();
        services->site = {sandboxes, pool, &io};
        services->local_harness = [this](const run_order& o) -> result<std::shared_ptr<local_harness>> {
            return std::shared_ptr<local_harness>(
                std::make_shared<fake_local_harness>(crashing_harnesses.contains(o.config.id.str())));
        };
        services->transcripts = spawn_transcript_writer(system, pool);
        services->watch = watch;
        services->spawn_backend_sink = spawn_sink;
        sweep_settings s;
        s.plan = std::move(plan);
        s.make_order = [this](run_key key, attempt_number attempt) { return order(key, attempt); };
        s.node = {services, capacity, max_runs, {}, models};
        if (change) {
            change(s);
        }
        sweep = spawn_sweep(system, std::move(s));
        settle();
    }

    /// Until nobody has anything to do.
    void settle() {
        bool busy = true;
        while (busy) {
            busy = scheduler.run() > 0;
            busy = pool->run_all() || busy;
            io.restart();
            busy = io.poll() > 0 || busy;
        }
    }
    /// Second by second: of one leap the node's deadlines would say that chalk had been stopped.
    void pass(std::chrono::milliseconds time) {
        for (std::chrono::milliseconds step{}; time.count() > 0; time -= step) {
            step = std::min(time, std::chrono::milliseconds(1000));
            scheduler.clock().advance_time(step);
            settle();
        }
    }
    void say(const std::string& id, std::uint64_t seq, event_body body) {
        sandboxes->of(id)->say(to_line({seq, {}, std::move(body)}));
        settle();
    }
    void die(const std::string& id,
             const sandbox_exit& how = {.code = 0, .signal = 9, .memory_exhausted = false, .last_words = {}}) {
        sandboxes->of(id)->exit(how);
        settle();
    }
    void pass_run(const std::string& id) {
        say(id, 1, log_line{});
        say(id, 2, task_completed{outcome_status::passed});
        die(id, {});
    }
    [[nodiscard]] json transcript(const std::string& id) const {
        std::ifstream in(folder.path() / "out" / (id + ".json"));
        return json::parse(in);
    }
    [[nodiscard]] const outcome& how(const std::string& id) const { return watch->results.at(id).how; }
};

} // namespace chalk::test
