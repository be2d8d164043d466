#include "cli/sweep/sweep_folder.hpp"

#include "actors/sinks/transcript_files.hpp"
#include "cli/cluster/sweep_sheet.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/core/read_file.hpp"
#include "protocol/core/sha256.hpp"
#include "protocol/journal/journal_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>
#include <variant>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view options_name = "options.json";
constexpr bytes largest_file = 64_MiB;

/// The first opening takes the file that is open; a journal actor that is started again opens it anew.
std::function<result<journal::journal_file>()> opener(journal::journal_file file) {
    const auto open = std::make_shared<std::optional<journal::journal_file>>(std::move(file));
    const auto folder = (*open)->folder();
    return [open, folder]() -> result<journal::journal_file> {
        if (*open) {
            return std::move(*std::exchange(*open, std::nullopt));
        }
        return journal::journal_file::resume(folder);
    };
}

/// The file as the user wrote it; of JSON on the command line, that.
result<std::string> text_of(const std::string& config) {
    if (config.find_first_not_of(" \t\r\n") != std::string::npos &&
        config[config.find_first_not_of(" \t\r\n")] == '{') {
        return config;
    }
    return read_file(config, largest_file);
}

result<void> store_options(const fs::path& folder, const run_options& how) {
    const auto content = [&how] { return to_json(how).dump(1) + "\n"; };
    auto written = actors::write_durably({{folder / options_name, content}});
    return std::move(written.front());
}

result<void> may_be_taken_back(const journal::run_row& row) {
    if (!row.closed) {
        return config_failure(fmt::format("--requeue {}: it has no outcome yet and will run anyway",
                                          row.attempts.front().started.id.str()));
    }
    return {};
}

failure never_started(const std::string& run) {
    return config_failure(fmt::format("--requeue {}: no such run was started in this sweep", run));
}

/// What a requeue takes back.
result<void> take_back(const journal::run_row& row, std::uint64_t repeats, opened_sweep& out,
                       std::set<actors::run_key>& reopened) {
    if (auto may = may_be_taken_back(row); !may) {
        return may;
    }
    const auto run = actors::run_of(row.run, repeats);
    reopened.insert(run);
    out.before.open[run] = {0, static_cast<std::uint32_t>(row.attempts.back().started.attempt), 0, 0, true};
    out.journal.first.push_back(journal::run_requeued{row.run, std::chrono::system_clock::now(), "by hand"});
    return {};
}

void count(actors::sweep_counts& counts, const journal::attempt_ended& end) {
    switch (end.how.status) {
    case outcome_status::passed:
        ++counts.passed;
        break;
    case outcome_status::failed:
        ++counts.failed;
        break;
    case outcome_status::error:
        ++counts.errors;
        ++counts.errors_by_class.at(static_cast<std::size_t>(end.how.kind.value_or(error_class::harness)));
        break;
    case outcome_status::cancelled:
        ++counts.cancelled;
        break;
    }
    if (end.score) {
        counts.score_sum += *end.score;
        ++counts.scored;
    }
}

/// Outcomes, and what of them is taken back.
result<void> read_outcomes(const journal::journal_reader& reader, std::uint64_t repeats,
                           const std::vector<std::string>& requeue, opened_sweep& out) {
    std::set<std::string> wanted(requeue.begin(), requeue.end());
    std::set<actors::run_key> reopened;
    auto closed = reader.finished_runs();
    if (!closed) {
        return closed.error();
    }
    result<void> taken;
    auto read = reader.for_each_run([&](const journal::run_row& row) {
        if (!row.attempts.empty() && wanted.erase(row.attempts.front().started.id.str()) > 0) {
            taken = take_back(row, repeats, out, reopened);
            return taken.has_value();
        }
        if (const auto* counted = row.counted(); counted != nullptr && counted->ended) {
            count(out.before.counted, *counted->ended);
            if (counted->ended->how.status == outcome_status::passed) {
                out.before.passed_cells.insert(static_cast<std::uint64_t>(row.run) / repeats);
            }
        } else if (row.closed && row.closed->why) {
            ++out.before.counted.skipped;
        }
        return true;
    });
    if (!read) {
        return read;
    }
    if (!taken) {
        return taken;
    }
    if (!wanted.empty()) {
        return never_started(*wanted.begin());
    }
    out.before.closed = [closed = std::move(*closed), reopened, repeats](actors::run_key run) {
        return closed.contains(actors::number_of(run, repeats)) && !reopened.contains(run);
    };
    return {};
}

/// Of a journal that no earlier chalk could write.
result<actors::lease> to_lease(const journal::lease_granted& granted) {
    auto node = actors::node_id::parse(granted.node);
    if (!node) {
        return harness_failure(
            fmt::format("the journal has a lease of \"{}\": {}", granted.node, node.error().message));
    }
    return actors::lease{std::move(*node), {granted.number.epoch, granted.number.count}, granted.length};
}

/// The attempt may be alive on a node that holds a lease: it is not settled.
bool keep_alive(const journal::open_attempt& left, std::uint64_t repeats, opened_sweep& out) {
    const auto& started = left.started;
    const auto holder = std::find_if(out.leases.begin(), out.leases.end(),
                                     [&](const actors::lease& l) { return l.node.str() == started.node; });
    if (holder == out.leases.end() || started.token == journal::assignment_token{}) {
        return false;
    }
    const auto run = actors::run_of(started.run, repeats);
    auto& before = out.before.open[run];
    before.alive = true;
    out.open.push_back(
        {{run, started.attempt, {started.token.epoch, started.token.count}}, holder->node, before.node_losses});
    return true;
}

/// Runs that were started and have no outcome; attempts that nobody settled are settled.
result<void> read_unfinished(const journal::journal_reader& reader, std::uint64_t repeats, opened_sweep& out) {
    const auto leases = reader.open_leases();
    if (!leases) {
        return leases.error();
    }
    for (const auto& granted : *leases) {
        auto lease = to_lease(granted);
        if (!lease) {
            return lease.error();
        }
        out.leases.push_back(std::move(*lease));
    }
    auto unfinished = reader.unfinished_runs();
    if (!unfinished) {
        return unfinished.error();
    }
    for (const auto& run : *unfinished) {
        out.before.open[actors::run_of(run.run, repeats)] = {run.charged_attempts,
                                                             static_cast<std::uint32_t>(run.next_attempt) - 1,
                                                             run.node_losses, run.shortages, run.requeued};
    }
    auto open = reader.open_attempts();
    if (!open) {
        return open.error();
    }
    auto spent = reader.charged();
    if (!spent) {
        return spent.error();
    }
    out.spent = {spent->tokens, spent->usd};
    std::size_t lost = 0;
    for (const auto& left : *open) {
        if (keep_alive(left, repeats, out)) {
            continue;
        }
        ++lost;
        auto settled = journal::settle(left, std::chrono::system_clock::now());
        if (settled.charged) {
            out.spent.tokens += settled.charged->tokens;
            out.spent.usd += settled.charged->usd;
        }
        out.journal.first.push_back(std::move(settled));
    }
    if (lost > 0) {
        out.notes.push_back(
            fmt::format("{} attempts were under way when the last chalk ended; they are run again", lost));
    }
    if (!out.open.empty()) {
        out.notes.push_back(
            fmt::format("{} attempts may still be under way on nodes: they go on, or are run again when "
                        "their nodes' leases have ended",
                        out.open.size()));
    }
    return {};
}

} // namespace

result<opened_sweep> create_sweep(const fs::path& folder, const config::loaded_sweep_file& file,
                                  const std::string& config, const run_options& how) {
    auto text = text_of(config);
    if (!text) {
        return text.error();
    }
    std::string prices_digest;
    if (how.prices) {
        auto prices = read_file(*how.prices, largest_file);
        if (!prices) {
            return prices.error();
        }
        prices_digest = "sha256:" + sha256_hex(*prices);
    }
    auto opened = journal::journal_file::create(folder);
    if (!opened) {
        return opened.error();
    }
    if (auto stored = store_options(folder, how); !stored) {
        return stored.error();
    }
    const std::uint64_t cells = file.matrix.count_kept();
    opened_sweep out;
    out.session = opened->session();
    out.journal.open = opener(std::move(*opened));
    out.journal.repeats = file.sweep.repeat;
    out.journal.folder = folder;
    out.journal.described = [](std::uint64_t) { return false; };
    out.journal.first.push_back(journal::sweep_opened{.at = std::chrono::system_clock::now(),
                                                      .name = file.sweep.name,
                                                      .seed = file.sweep.seed,
                                                      .file_text = *text,
                                                      .file_digest = "sha256:" + sha256_hex(*text),
                                                      .document = config::stored_sweep(file),
                                                      .prices_digest = prices_digest,
                                                      .repeats = file.sweep.repeat,
                                                      .cells = cells,
                                                      .total_runs = cells * file.sweep.repeat});
    out.id = sweep_id_of(std::get<journal::sweep_opened>(out.journal.first.front()), folder);
    return out;
}

result<stored_sweep_parts> read_sweep(const fs::path& folder) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    auto row = reader->sweep();
    if (!row) {
        return row.error();
    }
    const auto name = (folder / journal::journal_name).string();
    auto file = config::load_stored_sweep(row->opened.document, name);
    if (!file) {
        return file.error();
    }
    auto text = read_file(folder / options_name, largest_file);
    if (!text) {
        return text.error();
    }
    const auto stored = parse_json(*text);
    if (!stored) {
        return config_failure(fmt::format("{}: line {}: {}", (folder / options_name).string(), stored.error().line,
                                          stored.error().message));
    }
    auto how = run_options_from_json(*stored);
    if (!how) {
        return how.error();
    }
    return stored_sweep_parts{std::move(*file), std::move(*how)};
}

result<std::uint64_t> runs_left(const fs::path& folder, const std::vector<std::string>& requeue) {
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    auto sweep = reader->sweep();
    if (!sweep) {
        return sweep.error();
    }
    auto finished = reader->finished_runs();
    if (!finished) {
        return finished.error();
    }
    std::set<std::string> wanted(requeue.begin(), requeue.end());
    const auto left = sweep->opened.total_runs - finished->size() + wanted.size();
    result<void> may;
    auto read = wanted.empty() ? result<void>() : reader->for_each_run([&](const journal::run_row& row) {
        if (!row.attempts.empty() && wanted.erase(row.attempts.front().started.id.str()) > 0) {
            may = may_be_taken_back(row);
        }
        return may.has_value() && !wanted.empty();
    });
    if (!read || !may) {
        return read ? may.error() : read.error();
    }
    if (!wanted.empty()) {
        return never_started(*wanted.begin());
    }
    return left;
}

result<opened_sweep> take_up_sweep(const fs::path& folder, std::uint64_t repeats,
                                   const std::vector<std::string>& requeue) {
    auto opened = journal::journal_file::resume(folder);
    if (!opened) {
        return opened.error();
    }
    auto reader = journal::journal_reader::open(folder);
    if (!reader) {
        return reader.error();
    }
    opened_sweep out;
    out.session = opened->session();
    out.journal.repeats = repeats;
    out.journal.folder = folder;
    auto sweep = reader->sweep();
    if (!sweep) {
        return sweep.error();
    }
    out.id = sweep_id_of(sweep->opened, folder);
    if (auto read = read_unfinished(*reader, repeats, out); !read) {
        return read.error();
    }
    if (auto read = read_outcomes(*reader, repeats, requeue, out); !read) {
        return read.error();
    }
    std::set<std::uint64_t> described;
    auto cells = reader->for_each_cell([&](const journal::cell_described& cell) {
        described.insert(static_cast<std::uint64_t>(cell.number));
        return true;
    });
    if (!cells) {
        return cells.error();
    }
    out.journal.described = [described = std::move(described)](std::uint64_t cell) { return described.contains(cell); };
    out.journal.open = opener(std::move(*opened));
    return out;
}

} // namespace chalk::cli
