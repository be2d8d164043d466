#include "actors/tree.test.hpp"
#include "protocol/core/unique_fd.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <fcntl.h>
#include <sys/resource.h>

using namespace chalk;
using namespace chalk::actors;
using namespace chalk::test;
using namespace std::chrono_literals;

namespace {

/// While it lives this process may open a few files more and not the sixteen that a node wants to be free.
class few_descriptors {
  public:
    few_descriptors() {
        std::vector<unique_fd> free_numbers;
        for (int i = 0; i < 10; ++i) {
            free_numbers.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
            REQUIRE(free_numbers.back());
        }
        REQUIRE(::getrlimit(RLIMIT_NOFILE, &before_) == 0);
        rlimit few = before_;
        few.rlim_cur = static_cast<rlim_t>(free_numbers.back().get()) + 1;
        REQUIRE(::setrlimit(RLIMIT_NOFILE, &few) == 0);
    }
    few_descriptors(const few_descriptors&) = delete;
    few_descriptors& operator=(const few_descriptors&) = delete;
    ~few_descriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }

  private:
    rlimit before_{};
};

/// A tree whose outcomes go into a real journal, which works on the test's thread like everyone else.
struct journalled : tree {
    std::filesystem::path sweep_folder = folder.path() / "sweep";
    int openings = 0;
    int failing = 0; ///< openings from now on that fail

    static schedule_rules rules(std::uint64_t repeats, std::uint32_t attempts = 1) {
        schedule_rules out;
        out.repeats = repeats;
        out.retry = {.max_attempts = attempts,
                     .on = {error_class::harness, error_class::sandbox},
                     .backoff = 1000ms,
                     .max_backoff = 1000ms};
        return out;
    }

    static schedule plan(std::uint64_t cells, schedule_rules r) {
        return {cells, [cells](std::uint64_t from) { return from < cells ? std::optional(from) : std::nullopt; },
                std::move(r)};
    }

    void run(schedule plan, std::uint64_t repeats, const std::function<void(sweep_settings&)>& change = {}) {
        start(std::move(plan), [&](sweep_settings& s) {
            s.journal.emplace();
            s.journal->open = [this]() -> result<journal::journal_file> {
                if (failing > 0) {
                    --failing;
                    throw std::runtime_error("the journal exploded");
                }
                return openings++ == 0 ? journal::journal_file::create(sweep_folder)
                                       : journal::journal_file::resume(sweep_folder);
            };
            s.journal->own_thread = false;
            s.journal->repeats = repeats;
            s.journal->folder = sweep_folder;
            s.journal->described = [](std::uint64_t) { return false; };
            s.journal->describe = [](std::uint64_t cell) {
                return journal::cell_described{.number = journal::cell_number{cell},
                                               .id = fmt::format("{:016x}", cell),
                                               .label = "a cell",
                                               .values = "{}",
                                               .config_digest = {},
                                               .environment_digest = {},
                                               .image_digest = {}};
            };
            s.journal->first.push_back(journal::sweep_opened{.at = {},
                                                             .name = "s",
                                                             .seed = 0,
                                                             .file_text = {},
                                                             .file_digest = {},
                                                             .document = "{}",
                                                             .prices_digest = {},
                                                             .repeats = repeats,
                                                             .cells = 1,
                                                             .total_runs = repeats});
            if (change) {
                change(s);
            }
        });
    }

    /// The journal works with the other actors: when nobody has anything to do, it holds or never will.
    template<class Condition>
    void until(Condition holds) {
        settle();
        INFO("began " << watch->began.size() << ", attempts " << watch->attempts.size() << ", outcomes "
                      << watch->results.size() << ", said " << watch->said.size()
                      << (watch->said.empty() ? "" : ": " + watch->said.back())
                      << (watch->gave_up ? ", gave up: " + watch->gave_up->message : ""));
        REQUIRE(holds());
    }
    void until_began(std::size_t runs) {
        until([&] { return watch->began.size() >= runs; });
    }
    void until_ended(std::size_t runs) {
        until([&] { return watch->results.size() >= runs; });
    }

    std::vector<journal::run_row> rows() const {
        std::vector<journal::run_row> out;
        auto reader = journal::journal_reader::open(sweep_folder);
        REQUIRE(reader);
        REQUIRE(reader->for_each_run([&](const journal::run_row& row) {
            out.push_back(row);
            return true;
        }));
        return out;
    }
    std::string ask(sweep_control what) {
        std::optional<std::string> said;
        caf::anon_send(sweep, control_sweep{std::move(what), [&](const result<std::string>& answer) {
                                                said = answer ? *answer : "refused: " + answer.error().message;
                                            }});
        until([&] { return said.has_value(); });
        return *said;
    }
};

} // namespace

TEST_CASE("an attempt starts when its start is on disk, and an outcome is told when its end is") {
    journalled t;
    t.run(journalled::plan(1, journalled::rules(2)), 2);
    t.until_began(2);
    CHECK(t.rows().size() == 2);
    t.pass_run("r0");
    t.until_ended(1);
    const auto rows = t.rows();
    REQUIRE(rows.at(0).counted() != nullptr);
    CHECK(rows.at(0).counted()->ended->how == outcome::passed());
    CHECK(rows.at(0).counted()->ended->took.whole);
    CHECK(rows.at(1).counted() == nullptr);
    t.pass_run("r1");
    t.until([&] { return t.watch->ended.has_value(); });
    CHECK(t.watch->ended->passed == 2);
}

TEST_CASE("a failed attempt is kept beside the one that counts") {
    journalled t;
    t.run(journalled::plan(1, journalled::rules(1, 2)), 1);
    t.until_began(1);
    t.die("r0");
    t.until([&] { return t.watch->attempts.size() == 1; });
    CHECK(t.watch->results.empty());
    t.pass(1s);
    t.until_began(2);
    t.pass_run("r0a2");
    t.until([&] { return t.watch->ended.has_value(); });
    const auto rows = t.rows();
    REQUIRE(rows.size() == 1);
    REQUIRE(rows.front().attempts.size() == 2);
    CHECK(rows.front().attempts[0].ended->means == journal::verdict::retried);
    CHECK(rows.front().attempts[0].ended->how.kind == error_class::harness);
    CHECK(rows.front().attempts[1].counts);
    CHECK(t.watch->ended->retries == 1);
}

TEST_CASE("an attempt that fails while chalk has no descriptors is kept, charged to nobody, and another one follows") {
    journalled t;
    auto rules = journalled::rules(1, 1); // no attempt to spare
    rules.stop.max_errors = 1;
    t.run(journalled::plan(1, rules), 1, [&](sweep_settings& s) { s.node.disk = t.folder.path(); });
    t.until_began(1);
    {
        const few_descriptors few;
        t.die("r0");
        t.until([&] { return t.watch->attempts.size() == 1; });
        CHECK(t.watch->results.empty());
        REQUIRE(t.watch->said.size() == 1);
        CHECK(t.watch->said.front().find("no run starts until there is more") != std::string::npos);
        CHECK(t.ask(control::look{}).find("waiting for room") != std::string::npos);
        t.pass(2s);
        t.until([&] { return t.rows().front().attempts.size() == 2; });
        CHECK(t.watch->began.size() == 1); // the second one is out, and not let in
    }
    t.pass(6s); // measured again
    t.until_began(2);
    CHECK(t.ask(control::look{}).find("\"running\"") != std::string::npos);
    t.pass_run("r0a2");
    t.until([&] { return t.watch->ended.has_value(); });
    CHECK(t.watch->ended->errors == 0);
    const auto rows = t.rows();
    REQUIRE(rows.size() == 1);
    REQUIRE(rows.front().attempts.size() == 2);
    CHECK(rows.front().attempts[0].ended->means == journal::verdict::lost);
    CHECK(rows.front().attempts[0].ended->how.kind == error_class::harness);
    CHECK(rows.front().attempts[1].counts);
}

TEST_CASE("the runs that a passed cell needs no more are closed in the journal, begun or not") {
    journalled t;
    t.max_runs = 1;
    auto rules = journalled::rules(5'000);
    rules.stop.first_pass = true;
    t.run(journalled::plan(1, rules), 5'000, [](sweep_settings& s) { s.window = 3; });
    t.until_began(1);
    t.pass_run("r0");
    t.until_began(2); // at the node there was room for it before anyone knew
    t.pass_run("r1");
    t.until([&] { return t.watch->ended.has_value(); });
    const auto rows = t.rows();
    REQUIRE(rows.size() == 5'000);
    CHECK(rows[0].counted() != nullptr);
    CHECK(rows[1].counted() != nullptr);
    for (std::size_t i = 2; i < rows.size(); ++i) {
        REQUIRE(rows[i].closed);
        REQUIRE(rows[i].closed->why == journal::closing::first_pass);
    }
    CHECK(rows[2].attempts.size() == 1); // it waited at the node
    CHECK(rows[3].attempts.empty());
    CHECK(journal::journal_reader::open(t.sweep_folder)->sweep()->ended->complete);
}

TEST_CASE("a sweep whose cell broke has not run all that there is") {
    journalled t;
    t.max_runs = 1;
    auto rules = journalled::rules(3);
    rules.breaker = {1, seconds(60), config::breaker_scope::cell};
    t.run(journalled::plan(1, rules), 3);
    t.until_began(1);
    t.die("r0");
    t.until_began(2); // at the node there was room for it before anyone knew
    t.pass_run("r1");
    t.until([&] { return t.watch->ended.has_value(); });
    const auto ended = journal::journal_reader::open(t.sweep_folder)->sweep()->ended;
    CHECK_FALSE(ended->complete);
    CHECK(ended->message.find("breaker") != std::string::npos);
    CHECK(t.rows().at(1).counted() != nullptr);
    CHECK_FALSE(t.rows().at(2).closed); // a resume runs it
}

TEST_CASE("what is under way when a sweep is cancelled has no outcome, and the sweep says it is not complete") {
    journalled t;
    t.run(journalled::plan(1, journalled::rules(3)), 3);
    t.until_began(3);
    t.pass_run("r0");
    t.until_ended(1);
    caf::anon_send(t.sweep, cancel_sweep{"enough"});
    t.settle();
    t.die("r1");
    t.die("r2");
    t.until([&] { return t.watch->ended.has_value(); });
    CHECK(t.watch->ended->passed == 1);
    CHECK(t.watch->ended->not_started() == 2);
    for (const auto& row : t.rows()) {
        CHECK(row.closed.has_value() == (row.run == journal::run_number{0}));
    }
}

TEST_CASE("a journal actor that crashes is started again, and nothing is lost") {
    journalled t;
    t.failing = 1;
    t.run(journalled::plan(1, journalled::rules(1)), 1);
    t.until_began(1);
    t.pass_run("r0");
    t.until([&] { return t.watch->ended.has_value(); });
    CHECK_FALSE(t.watch->gave_up);
    CHECK(t.rows().size() == 1);
}

TEST_CASE("a journal that cannot be opened ends the sweep with the reason") {
    journalled t;
    t.failing = 100;
    t.run(journalled::plan(1, journalled::rules(1)), 1);
    t.until([&] { return t.watch->ended.has_value(); });
    REQUIRE(t.watch->gave_up);
    CHECK(t.watch->gave_up->message.find("journal") != std::string::npos);
}

TEST_CASE("a paused sweep starts nothing, and a requeued run keeps its first outcome as history") {
    journalled t;
    t.max_runs = 1;
    t.run(journalled::plan(1, journalled::rules(100)), 100, [](sweep_settings& s) { s.window = 1; });
    t.until_began(1);
    CHECK(t.ask(control::pause{}).find("paused") == 0);
    t.pass_run("r0");
    t.until_ended(1);
    CHECK(t.watch->began.size() == 1);
    CHECK(t.ask(control::look{}).find("\"paused\"") != std::string::npos);
    CHECK(t.ask(control::requeue{{"nobody"}}).find("refused") == 0);
    CHECK(t.ask(control::requeue{{"r0"}}).find("1 runs") != std::string::npos);
    CHECK(t.ask(control::concurrency{0}).find("refused") == 0);
    CHECK(t.ask(control::drain{"elsewhere"}).find("no node") != std::string::npos);
    t.ask(control::resume{});
    t.until_began(2); // fresh work before the requeued run
    CHECK(t.watch->began.back() == "r1");
    t.ask(control::cancel{"done"});
    t.die("r1");
    t.until([&] { return t.watch->ended.has_value(); });
    const auto rows = t.rows();
    CHECK_FALSE(rows.at(0).closed);
    CHECK(rows.at(0).attempts.size() == 1);
}

TEST_CASE("a sweep that stops takes back what waits at the node, and a paused one hands it out again later") {
    journalled t;
    t.max_runs = 1;
    t.run(journalled::plan(1, journalled::rules(3)), 3);
    t.until_began(1);
    t.ask(control::pause{});
    t.until([&] { return t.rows().at(1).attempts.front().ended.has_value(); });
    CHECK(t.rows().at(1).attempts.front().ended->means == journal::verdict::lost);
    t.pass_run("r0");
    t.until_ended(1);
    CHECK(t.watch->began.size() == 1);
    t.ask(control::resume{});
    t.until_began(2);
    t.pass_run("r1a2");
    t.until_began(3);
    t.pass_run("r2a2");
    t.until([&] { return t.watch->ended.has_value(); });
    CHECK(t.watch->ended->passed == 3);
    CHECK(t.rows().at(1).attempts.size() == 2);
    CHECK(t.rows().at(1).attempts.back().counts);
}

TEST_CASE(
    "a run that does not fit the budget waits for what others do not spend, and one that never will ends the sweep") {
    tree t;
    t.models = gateway_site{
        {}, t.folder.path(), [](caf::local_actor* owner, boost::asio::io_context&, const gateway::gateway_settings&) {
            return owner->system().spawn([](gateway_actor::pointer) -> gateway_actor::behavior_type {
                return {[](const open_socket&) {}, [](const close_socket&) {}};
            });
        }};
    t.start(one_cell(3), [&](sweep_settings& s) {
        s.budget.tokens = 100;
        s.make_order = [&t](run_key key, attempt_number) {
            auto order = std::make_shared<run_order>(*t.order(key));
            order->models->budget.tokens = 60;
            return order;
        };
    });
    CHECK(t.watch->began.size() == 1);
    caf::anon_send(t.sweep, kill_sweep{"enough"});
    t.settle();
    CHECK(t.watch->ended);
}

TEST_CASE("a sweep whose time is over ends what is under way") {
    tree t;
    t.start(one_cell(1), [](sweep_settings& s) { s.deadline = 5000ms; });
    t.pass(5s);
    t.die("r0");
    REQUIRE(t.watch->ended);
    CHECK(t.how("r0").status == outcome_status::cancelled);
    CHECK(t.how("r0").message.find("sweep_s") != std::string::npos);
}

TEST_CASE("sealing cuts off the runs that are still out, as timeouts") {
    tree t;
    schedule_rules rules;
    rules.repeats = 2;
    rules.seal_at = 0.5;
    t.start(journalled::plan(1, rules));
    t.pass_run("r0");
    t.die("r1");
    REQUIRE(t.watch->ended);
    CHECK(t.how("r1").kind == error_class::timeout);
    CHECK(t.how("r1").message.find("seal_at") != std::string::npos);
}

TEST_CASE("a sweep that dies takes its node and its runs along") {
    journalled t;
    t.run(journalled::plan(1, journalled::rules(2)), 2);
    t.until_began(2);
    caf::anon_send_exit(t.sweep, caf::exit_reason::kill);
    t.sweep = nullptr;
    t.settle();
    CHECK(t.sandboxes->of("r0")->killed);
    CHECK(t.sandboxes->of("r1")->killed);
}
