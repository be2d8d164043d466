#include "cli/bench/simulated_cluster.hpp"

#include "protocol/core/overloaded.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace chalk::cli::bench {

using actors::assignment_name;
using actors::run_key;
namespace decision = actors::decision;

namespace {

/// Runs that all nodes together have room for: few large nodes or many small ones, so that only their number differs.
constexpr std::size_t all_slots = 8'192;
constexpr milliseconds simulated_run{1'000};
constexpr milliseconds simulated_lease{10'000};
/// One node of so many is lost, half of them for good with all that runs there, the others by their link alone.
constexpr std::size_t one_lost_of = 20;
constexpr std::size_t one_sick_of = 100;
constexpr const char* simulated_version = "simulated";

actors::schedule_rules schedule_rules_of(const simulated_cluster::plan& what) {
    actors::schedule_rules rules;
    rules.repeats = what.repeats;
    rules.retry = {.max_attempts = 2, .backoff = milliseconds(100), .max_backoff = milliseconds(100)};
    return rules;
}

actors::coordinator_rules coordinator_rules_of(std::uint64_t epoch) {
    return {.terms = actors::terms_for(simulated_lease),
            .quarantines = {.max_errors = 5,
                            .window = milliseconds(60'000),
                            .backoff = milliseconds(1'000),
                            .max_backoff = milliseconds(60'000)},
            .version = simulated_version,
            .epoch = epoch};
}

std::size_t slots_of_node(std::size_t nodes) {
    return std::max<std::size_t>(1, all_slots / nodes);
}

actors::resources room_for(std::size_t runs) {
    return {.memory = bytes{runs << 30U},
            .disk = {},
            .processes = 0,
            .milli_cpus = static_cast<std::uint32_t>(runs * 1'000),
            .open_files = 0};
}

template<class Of>
journal::assignment_token token_of(const actors::epoch_number<Of>& number) {
    return {number.epoch, number.count};
}

actors::schedule make_schedule(const simulated_cluster::plan& what) {
    return {what.cells,
            [cells = what.cells](std::uint64_t from) { return from < cells ? std::optional(from) : std::nullopt; },
            schedule_rules_of(what)};
}

} // namespace

simulated_cluster::simulated_cluster(const plan& what, journal::journal_file& file)
    : what_(what), random_(what.seed), file_(file), schedule_(make_schedule(what)),
      window_(actors::with_slack(slots_of_node(what.nodes) * what.nodes)) {}

wall_time simulated_cluster::wall() const {
    return wall_time(std::chrono::duration_cast<wall_time::duration>(std::chrono::hours(500'000) + time_.now()));
}

journal::run_number simulated_cluster::number(run_key run) const {
    return journal::run_number{run.cell * what_.repeats + run.index};
}

void simulated_cluster::failed(failure why) {
    if (!trouble_) {
        trouble_ = std::move(why);
    }
}

result<simulated_cluster::figures> simulated_cluster::run() {
    auto opened = actors::coordinator::open(coordinator_rules_of(file_.session()), {}, {}, now());
    if (!opened) {
        return opened.error();
    }
    book_.emplace(std::move(*opened));
    const std::uint64_t runs = what_.cells * what_.repeats;
    record(journal::sweep_opened{.at = wall(),
                                 .name = "simulated",
                                 .seed = what_.seed,
                                 .file_text = {},
                                 .file_digest = {},
                                 .document = "{}",
                                 .prices_digest = {},
                                 .repeats = what_.repeats,
                                 .cells = what_.cells,
                                 .total_runs = runs});
    make_nodes();
    make_trouble();
    tick();
    carry_out();
    while (figures_.outcomes < runs && !trouble_ && time_.step()) {
    }
    if (!trouble_ && (figures_.outcomes < runs || book_->placed() + book_->waiting() > 0)) {
        failed(harness_failure(fmt::format("{} outcomes of {} runs, {} runs on nodes and {} waiting at the end",
                                           figures_.outcomes, runs, book_->placed(), book_->waiting())));
    }
    if (trouble_) {
        return *trouble_;
    }
    return figures_;
}

void simulated_cluster::make_nodes() {
    simulated_node::traits traits;
    traits.offer.version = simulated_version;
    traits.offer.capacity = room_for(slots_of_node(what_.nodes));
    traits.wanted = room_for(1);
    traits.terms = actors::terms_for(simulated_lease);
    traits.mean_run = simulated_run;
    for (std::size_t i = 0; i < what_.nodes; ++i) {
        traits.is_sick = i % one_sick_of == one_sick_of / 2;
        names_.push_back(actors::node_id::parse(fmt::format("node-{}", i)).value());
        index_.emplace(names_.back(), i);
        asked_.emplace_back();
        nodes_.push_back(std::make_unique<simulated_node>(i, traits, static_cast<std::uint32_t>(random_()), time_,
                                                          static_cast<node_listener&>(*this)));
        time_.at(std::chrono::milliseconds(random_() % 500), [its = nodes_.back().get()] { its->link(); });
    }
}

/// In the middle of the sweep, as long as it would take without.
void simulated_cluster::make_trouble() {
    const double all_s = static_cast<double>(what_.cells * what_.repeats) / static_cast<double>(all_slots) *
                         (static_cast<double>(simulated_run.count()) / 1000);
    std::uniform_real_distribution<double> when(0.5 + 0.1 * all_s, 0.5 + 0.6 * all_s);
    std::vector<simulated_node*> some;
    for (const auto& one : nodes_) {
        some.push_back(one.get());
    }
    std::shuffle(some.begin(), some.end(), random_);
    some.resize(std::max<std::size_t>(1, what_.nodes / one_lost_of));
    for (std::size_t i = 0; i < some.size(); ++i) {
        const bool dies = i % 2 == 0;
        const auto moment =
            std::chrono::duration_cast<virtual_time::moment>(std::chrono::duration<double>(when(random_)));
        const auto away = std::chrono::milliseconds(500 + random_() % (dies ? 3'000 : 20'000));
        time_.at(moment, [its = some[i], dies] { dies ? its->kill() : its->cut(); });
        time_.at(moment + away, [its = some[i]] { its->link(); });
    }
}

void simulated_cluster::tick() {
    book_->tick(now());
    carry_out();
    time_.after(book_->tick_every(), [this] { tick(); });
}

void simulated_cluster::hand_out() {
    while (out_ < window_) {
        const auto next = schedule_.next(plan_time());
        if (!next) {
            break;
        }
        ++out_;
        actors::run_needs needs;
        needs.wanted = room_for(1);
        needs.digests = {simulated_environment};
        book_->request(next->run, attempt_number{next->attempt}, std::move(needs));
    }
    const auto due = schedule_.next_retry();
    if (due && out_ < window_ && (!wake_ || due->time_since_epoch() < *wake_)) {
        wake_ = due->time_since_epoch();
        time_.at(*wake_, [this] {
            wake_.reset();
            carry_out();
        });
    }
}

/// Does what was decided, and all that follows from it.
void simulated_cluster::carry_out() {
    hand_out();
    for (auto all = book_->take_decisions(); !all.empty(); all = book_->take_decisions()) {
        for (const auto& one : all) {
            std::visit(overloaded{
                           [&](const decision::write_grant& d) {
                               record(journal::lease_granted{d.what.node.str(), token_of(d.what.number), d.what.length,
                                                             wall()});
                               commits_.then([this, what = d.what] { book_->granted(what, now()); });
                           },
                           [&](const decision::write_end& d) {
                               ++figures_.nodes_lost;
                               record(journal::lease_ended{d.what.node.str(), token_of(d.what.number), wall()});
                           },
                           [&](const decision::welcome& d) {
                               node(d.what.node).hear_granted(d.what, asked_.at(index_.at(d.what.node)));
                           },
                           [&](const decision::place& d) { place(d); },
                           [&](const decision::send_run& d) { node(d.node).hear_assigned(d.name); },
                           [&](const decision::drop_run& d) { node(d.node).hear_dropped(d.name); },
                           [&](const decision::release_result& d) { node(d.node).hear_taken(d.name); },
                           [&](const decision::lose_run& d) { lose(d); },
                           [&](const decision::probe_node& d) { node(d.node).hear_probe(); },
                           [](const decision::say&) {},
                       },
                       one);
        }
        hand_out();
    }
    write();
}

/// A batch at a time, as the sweep's journal. How long it is under way is drawn; it is written when that begins.
void simulated_cluster::write() {
    const auto batch = commits_.next();
    if (!batch) {
        return;
    }
    if (auto written = file_.append(**batch); !written) {
        failed(written.error());
        return;
    }
    const auto sync = std::chrono::microseconds(std::uniform_int_distribution<int>(3'000, 15'000)(random_));
    time_.after(sync + std::chrono::microseconds(15) * static_cast<std::int64_t>((*batch)->size()), [this] {
        for (const auto& effect : commits_.written()) {
            effect();
        }
        carry_out();
    });
}

// Runs.

void simulated_cluster::place(const decision::place& d) {
    ++figures_.placements;
    const run_key run = d.name.run;
    if (described_.insert(run.cell).second) {
        record(journal::cell_described{.number = journal::cell_number{run.cell},
                                       .id = fmt::format("{:016x}", run.cell),
                                       .label = fmt::format("cell={}", run.cell),
                                       .values = "{}",
                                       .config_digest = {},
                                       .environment_digest = {},
                                       .image_digest = {}});
    }
    journal::attempt_started start;
    start.run = number(run);
    start.cell = journal::cell_number{run.cell};
    start.repeat = run.index;
    start.id = run_id::parse(fmt::format("simulated.{}.{}", run.cell, run.index)).value();
    start.attempt = d.name.attempt;
    start.node = d.node.str();
    start.token = token_of(d.name.token);
    start.at = wall();
    record(std::move(start));
    commits_.then([this, name = d.name] { book_->started(name); });
}

void simulated_cluster::lose(const decision::lose_run& d) {
    ++figures_.runs_lost;
    const run_key run = d.name.run;
    --out_;
    const bool last = schedule_.lost(run, plan_time()) == actors::schedule::after_loss::give_up;
    journal::attempt_ended end;
    end.run = number(run);
    end.attempt = d.name.attempt;
    end.at = wall();
    end.how = outcome::error(error_class::node_lost, "its node was lost");
    end.means = last ? journal::verdict::counts : journal::verdict::lost;
    const auto how = end.how;
    record(std::move(end));
    if (last) {
        commits_.then([this, run, how] { ended(run, how); });
    } else {
        ++figures_.run_again;
    }
}

void simulated_cluster::ended(run_key run, const outcome& how) {
    ++figures_.outcomes;
    figures_.errors += how.status == outcome_status::error ? 1 : 0;
    figures_.last_outcome = time_.now();
    book_->closed(run);
}

void simulated_cluster::said_ended(std::size_t from, const assignment_name& name, const outcome& how) {
    const auto has = book_->must_ask(name) ? ask_journal(name) : actors::journalled_name::absent;
    switch (book_->result_came(name, names_.at(from), has, how, now())) {
    case actors::result_standing::counts:
        count_result(from, name, how);
        break;
    case actors::result_standing::evidence:
        keep_evidence(from, name, how);
        break;
    case actors::result_standing::foreign:
        failed(harness_failure(
            fmt::format("a result of run {} was taken for nobody's", static_cast<std::uint64_t>(number(name.run)))));
        break;
    case actors::result_standing::repeated: // answered by the book
    case actors::result_standing::under_way:
        break;
    }
    carry_out();
}

void simulated_cluster::count_result(std::size_t from, const assignment_name& name, const outcome& how) {
    const auto said = schedule_.finished(name.run, how, std::nullopt, plan_time());
    if (said == actors::schedule::verdict::unknown) {
        failed(harness_failure(fmt::format("run {} was counted twice", static_cast<std::uint64_t>(number(name.run)))));
        return;
    }
    --out_;
    const bool again = said == actors::schedule::verdict::retried;
    journal::attempt_ended end;
    end.run = number(name.run);
    end.attempt = name.attempt;
    end.at = wall();
    end.how = how;
    end.means = again ? journal::verdict::retried : journal::verdict::counts;
    record(std::move(end));
    commits_.then([this, from, name, how, again] {
        book_->durable(name);
        nodes_.at(from)->hear_taken(name);
        if (!again) {
            ended(name.run, how);
        }
    });
}

void simulated_cluster::keep_evidence(std::size_t from, const assignment_name& name, const outcome& how) {
    ++figures_.late_results;
    journal::evidence_kept kept;
    kept.run = number(name.run);
    kept.attempt = name.attempt;
    kept.token = token_of(name.token);
    kept.node = names_.at(from).str();
    kept.at = wall();
    kept.how = how;
    record(std::move(kept));
    commits_.then([this, from, name] { nodes_.at(from)->hear_taken(name); });
}

actors::journalled_name simulated_cluster::ask_journal(const assignment_name& name) {
    const auto reader = journal::journal_reader::open(file_.folder());
    const auto found = reader ? reader->assignment(number(name.run), name.attempt, token_of(name.token))
                              : result<journal::assignment_standing>(reader.error());
    if (!found) {
        failed(found.error());
        return actors::journalled_name::absent;
    }
    switch (*found) {
    case journal::assignment_standing::assigned:
        return actors::journalled_name::assigned;
    case journal::assignment_standing::taken:
        return actors::journalled_name::taken;
    case journal::assignment_standing::absent:
        break;
    }
    return actors::journalled_name::absent;
}

// Nodes.

void simulated_cluster::said_hello(std::size_t from, const actors::node_offer& offer,
                                   std::optional<actors::lease_number> holds, question asked) {
    const auto how = book_->hello(names_.at(from), offer, holds, now());
    if (!how) {
        nodes_.at(from)->hear_refused();
    } else {
        asked_.at(from) = asked;
        if (*how == actors::membership::entry::again) {
            nodes_.at(from)->hear_granted(*book_->lease_of(names_.at(from)), asked);
        }
    }
    carry_out();
}

void simulated_cluster::said_renew(std::size_t from, actors::lease_number number, question asked) {
    if (const auto its = book_->renew(names_.at(from), number, now())) {
        nodes_.at(from)->hear_renewed(*its, asked);
    } else {
        nodes_.at(from)->hear_over();
    }
    carry_out();
}

void simulated_cluster::said_has(std::size_t from, const std::set<assignment_name>& running,
                                 const std::set<assignment_name>& ended) {
    book_->node_has(names_.at(from), running, ended);
    carry_out();
}

void simulated_cluster::said_holds(std::size_t from, const std::string& digest) {
    book_->digest_changed(names_.at(from), digest, true);
    carry_out();
}

void simulated_cluster::said_probed(std::size_t from, bool passed) {
    book_->probed(names_.at(from), passed, now());
    carry_out();
}

void simulated_cluster::link_broke(std::size_t from) {
    book_->link_lost(names_.at(from));
    carry_out();
}

} // namespace chalk::cli::bench
