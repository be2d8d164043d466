#include "actors/node/failed_runs.hpp"
#include "actors/node/interfaces.hpp"
#include "actors/supervision/restart_policy.hpp"
#include "protocol/core/unique_fd.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <latch>
#include <map>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/statvfs.h>

namespace chalk::actors {

namespace {

constexpr std::chrono::seconds measured_every{5};

/// On the pool. nullopt: it could not be looked at.
std::optional<disk_room> look_at_disk(const std::filesystem::path& folder) {
    struct statvfs found {};
    if (::statvfs(folder.c_str(), &found) != 0) {
        return std::nullopt;
    }
    disk_room room{bytes{found.f_bavail * found.f_frsize}, bytes{found.f_blocks * found.f_frsize}, std::nullopt};
    if (found.f_files > 0) {
        room.inodes = inode_room{found.f_favail, found.f_files};
    }
    return room;
}

/// Descriptors and processes that a sandbox needs to start; what it goes on with is the ledger's business.
constexpr std::size_t files_needed = 16;
constexpr std::size_t processes_needed = 8;

/// On the pool: by trying, whichever limit it is that holds (a process's, a user's, a cgroup's, the machine's).
/// nullopt: chalk has enough.
std::optional<std::string> look_for_shortage() {
    std::vector<unique_fd> files;
    for (std::size_t i = 0; i < files_needed; ++i) {
        files.emplace_back(::open("/dev/null", O_RDONLY | O_CLOEXEC));
        if (!files.back()) {
            return fmt::format("chalk cannot open {} more files ({})", files_needed,
                               std::generic_category().message(errno));
        }
    }
    std::latch tried(1);
    std::vector<std::jthread> threads; // to the kernel a process each
    threads.reserve(processes_needed);
    std::error_code why;
    try {
        for (std::size_t i = 0; i < processes_needed; ++i) {
            threads.emplace_back([&tried] { tried.wait(); });
        }
    } catch (const std::system_error& e) {
        why = e.code();
    } catch (const std::bad_alloc&) {
        why = std::make_error_code(std::errc::not_enough_memory);
    }
    tried.count_down(); // before anything that may throw: the threads are waited for
    if (why) {
        return fmt::format("chalk cannot start {} more processes ({})", processes_needed, why.message());
    }
    return std::nullopt;
}

struct live_run {
    order_ptr order;
    run_actor handle; ///< the node is its owner: CAF drops an actor that nobody holds
    std::shared_ptr<run_record> record;
    std::optional<model_socket> models; ///< as it was asked of the gateway, to be asked again of the next one
    result_ptr reported;
};

struct node_state {
    node_settings settings;
    run_listener sweep;
    std::optional<ledger> book;
    disk_pressure pressure;
    std::optional<std::string> disk_trouble; ///< as it was last seen
    bool tight = false;                      ///< as it was last said
    bool measuring = false;
    std::uint64_t measures = 0;       ///< that were begun
    std::optional<bool> measure_next; ///< asked for while another measure is under way; true: with the limits
    std::shared_ptr<shared_deadlines> deadlines = std::make_shared<shared_deadlines>();
    gateway_actor gateway; ///< started with the first run that asks a model; the node is its owner
    restart_policy gateway_restarts{10, std::chrono::minutes(1)};
    std::uint64_t last_ticket = 0;
    std::map<ticket, order_ptr> waiting; ///< in the order in which they came
    std::unordered_map<ticket, live_run> live;
    std::unordered_map<caf::actor_addr, ticket> by_address;
    /// Crashed runs whose transcript is being written; the outcome waits for it.
    std::unordered_map<ticket, std::shared_ptr<run_result>> crashed;
    failed_runs<result_ptr> failed;

    node_state() = default;
    node_state(const node_state&) = delete;
    node_state& operator=(const node_state&) = delete;
    /// Whatever the node dies of, nobody would hear of its runs any more: they end, with their sandboxes, and are run
    /// again elsewhere. They do not monitor the node: a monitor is taken back by a search among those of all runs.
    ~node_state() {
        for (const auto& [who, run] : live) {
            caf::anon_send_exit(run.handle, caf::exit_reason::user_shutdown);
        }
    }
};

using node_base = node_actor::stateful_base<node_state>;

class node_impl final : public node_base {
  public:
    node_impl(caf::actor_config& config, node_settings settings, run_listener sweep) : node_base(config) {
        state.settings = std::move(settings);
        state.sweep = std::move(sweep);
        state.book.emplace(state.settings.capacity, state.settings.max_runs);
        set_down_handler([this](const caf::down_msg& down) { on_down(down); });
    }

    behavior_type make_behavior() override {
        if (!state.settings.disk.empty()) {
            measure(true);
            delayed_send(this, measured_every, measure_room{});
        }
        return {
            [this](const start_run& m) { admit(m.order); },
            [this](const run_reported& m) {
                if (const auto run = state.live.find(m.who); run != state.live.end() && !run->second.reported) {
                    run->second.reported = m.what;
                }
            },
            [this](const cancel_runs& m) { end_all(m.reason, false); },
            [this](const kill_runs& m) { end_all(m.reason, true); },
            [this](const kill_one_run& m) { kill_one(m); },
            [this](const cut_off_runs& m) { cut_off(m.why); },
            [this](const withdraw_runs&) { leave_queue(outcome::cancelled("withdrawn before it began"), true); },
            [this](const set_max_runs& m) { begin_all(state.book->set_max_runs(m.runs)); },
            [this](const measure_room&) {
                tell(state.failed.interval_passed());
                measure(true);
                delayed_send(this, measured_every, measure_room{});
            },
            [this](const room_measured& m) { on_measured(m); },
            [this](const arm_deadlines&) { arm(); },
            [this](const deadline_timer&) { on_timer(); },
            [this](const open_model_socket& m) { on_socket_wanted(m.who); },
            [this](const transcript_written& m) { on_crash_recorded(m); },
        };
    }

  private:
    /// `limits`: also what chalk itself may be short of, which costs a little.
    void measure(bool limits) {
        if (state.settings.disk.empty()) {
            return;
        }
        if (std::exchange(state.measuring, true)) {
            state.measure_next = limits || state.measure_next.value_or(false);
            return;
        }
        ++state.measures;
        state.settings.services->site.pool->submit([folder = state.settings.disk, limits, self = node_actor(this)] {
            caf::anon_send(self, room_measured{look_at_disk(folder), limits ? look_for_shortage() : std::nullopt});
        });
    }

    void on_measured(const room_measured& m) {
        state.measuring = false;
        const auto number = state.measures;
        if (const auto next = std::exchange(state.measure_next, std::nullopt)) {
            measure(*next);
        }
        // A disk that could not be looked at is as it was; the next measure may know.
        auto trouble = m.room ? state.pressure.look(*m.room) : state.disk_trouble;
        state.disk_trouble = trouble;
        if (m.shortage) {
            trouble = m.shortage;
        }
        const bool changed = trouble.has_value() != std::exchange(state.tight, trouble.has_value());
        if (changed) {
            send(state.sweep, node_said{trouble ? *trouble + ": no run starts until there is more"
                                                : std::string("there is enough room again: runs start"),
                                        state.tight});
        }
        tell(state.failed.measured(number, state.tight));
        begin_all(state.book->set_closed(state.tight));
    }

    void begin_all(const std::vector<ticket>& admitted) {
        for (const ticket next : admitted) {
            const auto order = state.waiting.extract(next);
            begin(next, order.mapped());
        }
    }

    void kill_one(const kill_one_run& m) {
        const auto is_it = [&](const auto& one) { return one == m.order; };
        for (const auto& [who, run] : state.live) {
            if (is_it(run.order)) {
                send(run.handle, kill_run{m.reason});
                return;
            }
        }
        for (auto it = state.waiting.begin(); it != state.waiting.end(); ++it) {
            if (is_it(it->second)) {
                const auto waits = state.waiting.extract(it);
                begin_all(state.book->release(waits.key()));
                finish(never_began(waits.mapped(), outcome::cancelled(m.reason)));
                return;
            }
        }
    }

    void cut_off(const failure& why) {
        leave_queue(outcome::error(why));
        for (const auto& [who, run] : state.live) {
            send(run.handle, cut_off_run{why});
        }
    }

    /// Those that wait end like this.
    void leave_queue(const outcome& how, bool withdrawn = false) {
        const auto waiting = std::exchange(state.waiting, {});
        for (const auto& [who, order] : waiting) {
            // Nobody is let in: all that wait leave.
            static_cast<void>(state.book->release(who));
        }
        for (const auto& [who, order] : waiting) {
            auto what = never_began(order, how);
            what->withdrawn = withdrawn;
            finish(std::move(what));
        }
    }

    void admit(const order_ptr& order) {
        if (order->refused) {
            finish(never_began(order, outcome::error(*order->refused)));
            return;
        }
        const ticket who{++state.last_ticket};
        const auto answer = state.book->request(who, order->reservation);
        if (!answer) {
            finish(never_began(order, outcome::error(answer.error())));
        } else if (*answer == admission::admitted) {
            begin(who, order);
        } else {
            state.waiting.emplace(who, order);
        }
    }

    void begin(ticket who, const order_ptr& order) {
        auto record = std::make_shared<run_record>(order->header);
        std::optional<model_socket> models;
        if (order->models && state.settings.models) {
            models = make_model_socket(*state.settings.models, *state.settings.services->site.io, *order, who);
            record->keep_account(models->payer);
            models->payer->on_spending(
                [sweep = state.sweep, run = order->key, attempt = order->attempt](const gateway::spending& spent) {
                    caf::anon_send(sweep, run_spent{run, attempt, {spent.tokens, spent.usd}});
                });
        }
        auto handle = spawn_run(this, {who, order, state.settings.services, record, node_actor(this), state.deadlines,
                                       models ? models->path : std::filesystem::path{}});
        monitor(handle);
        state.by_address.emplace(handle.address(), who);
        state.live.emplace(who, live_run{order, std::move(handle), std::move(record), std::move(models), nullptr});
    }

    void on_socket_wanted(ticket who) {
        const auto run = state.live.find(who);
        if (run == state.live.end() || !run->second.models) {
            return;
        }
        if (!state.gateway) {
            start_gateway();
        }
        run->second.models->wanted = true;
        send(state.gateway, open_socket{*run->second.models, run->second.handle});
    }

    void start_gateway() {
        state.gateway =
            state.settings.models->spawn(this, *state.settings.services->site.io, state.settings.models->settings);
        monitor(state.gateway);
    }

    /// Calls under way have failed; the runs go on, and find the next gateway where the last one was.
    void on_gateway_down() {
        state.gateway = nullptr;
        if (!state.gateway_restarts.allow(clock().now())) {
            for (const auto& [who, run] : state.live) {
                if (run.models && run.models->wanted) {
                    send(run.handle, model_socket_opened{model_failure("the model gateway failed too often")});
                }
            }
            return;
        }
        for (const auto& [who, run] : state.live) {
            if (run.models && run.models->wanted) {
                on_socket_wanted(who);
            }
        }
    }

    void arm() {
        if (const auto wait = state.deadlines->arm(clock().now())) {
            delayed_send(this, *wait, deadline_timer{});
        }
    }

    void on_timer() {
        for (const auto& passed : state.deadlines->take_passed(clock().now())) {
            if (const auto run = state.live.find(passed.who); run != state.live.end()) {
                send(run->second.handle, deadline_passed{passed.kind, passed.generation});
            }
        }
        arm();
    }

    void end_all(const std::string& reason, bool at_once) {
        leave_queue(outcome::cancelled(reason));
        for (const auto& [who, run] : state.live) {
            if (at_once) {
                send(run.handle, kill_run{reason});
            } else {
                send(run.handle, cancel_run{reason});
            }
        }
    }

    void on_down(const caf::down_msg& down) {
        if (state.gateway && down.source == state.gateway.address()) {
            on_gateway_down();
            return;
        }
        const auto address = state.by_address.find(down.source);
        if (address == state.by_address.end()) {
            return;
        }
        const ticket who = address->second;
        state.by_address.erase(address);
        live_run run = std::move(state.live.at(who));
        state.live.erase(who);
        if (!run.reported) { // or it has cleared them
            state.deadlines->clear(who, deadline_kind::part);
            state.deadlines->clear(who, deadline_kind::whole);
        }
        if (run.models && state.gateway) {
            send(state.gateway, close_socket{run.models->path});
        }
        begin_all(state.book->release(who));
        // Its transcript may be what filled the disk, and its error a limit's.
        if (run.reported && run.reported->how.status != outcome_status::error) {
            measure(state.tight);
            finish(std::move(run.reported));
        } else if (run.reported) {
            finish_failed(std::move(run.reported));
        } else {
            record_crash(who, std::move(run), system().render(down.reason));
        }
    }

    static std::shared_ptr<run_result> never_began(const order_ptr& order, outcome how) {
        auto what = std::make_shared<run_result>();
        what->order = order;
        what->how = std::move(how);
        return what;
    }

    /// A run's actor died without a report: the run ends here, alone, and its transcript is written from the record.
    void record_crash(ticket who, live_run run, const std::string& reason) {
        const std::string message = fmt::format("the run's actor died: {}", reason);
        auto what = never_began(run.order, outcome::error(error_class::harness, message));
        if (run.order->prepare_only) {
            finish(std::move(what));
            return;
        }
        if (run.record->sealed()) {
            what->how = *run.record->final_outcome();
            what->remark = message;
        } else {
            run.record->add_own(run_failed{error_class::harness, message, {}}, std::chrono::system_clock::now());
        }
        add_figures(*what, *run.record);
        send(state.settings.services->transcripts,
             write_transcript{who, transcript_job(*run.order, run.record), transcript_client(node_actor(this))});
        state.crashed.emplace(who, std::move(what));
    }

    void on_crash_recorded(const transcript_written& m) {
        if (auto crashed = state.crashed.extract(m.who)) {
            auto& what = crashed.mapped();
            what->has_transcript = m.how.has_value();
            if (!m.how) {
                what->how = outcome::error(m.how.error());
                what->score.reset();
            }
            if (what->how.status == outcome_status::error) {
                finish_failed(std::move(what));
            } else {
                finish(std::move(what));
            }
        }
    }

    /// Of a run that began: told with the measure that begins now or next.
    void finish_failed(result_ptr what) {
        if (state.settings.disk.empty()) {
            finish(std::move(what));
            return;
        }
        state.failed.add(std::move(what), state.measures + 1, state.tight);
        measure(true);
    }

    void tell(std::vector<failed_runs<result_ptr>::told> ended) {
        for (auto& run : ended) {
            send(state.sweep, run_finished{std::move(run.what), run.node_was_short});
        }
    }

    void finish(result_ptr what) { send(state.sweep, run_finished{std::move(what)}); }
};

} // namespace

node_actor spawn_node(caf::local_actor* owner, node_settings settings, run_listener sweep) {
    return owner->system().spawn<node_impl>(std::move(settings), std::move(sweep));
}

} // namespace chalk::actors
