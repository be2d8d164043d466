// chalk-journal-fixture FOLDER: writes a journal by what it reads, a JSON list a line, each one batch of:
// {"sweep": {...}} | {"cell": {...}} | {"start": {...}} | {"note": {...}} | {"end": {...}} | {"close": {...}} |
// {"requeue": {...}} | {"ended": {...}} | {"evidence": {...}}. Says "ok" after each one, and keeps the folder's lock to
// the end of its input. A folder with a journal is taken up.
#include "protocol/core/json_text.hpp"
#include "protocol/journal/journal_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <iostream>

using namespace chalk;
using namespace chalk::journal;

namespace {

template<class T>
std::optional<T> maybe(const json& object, const char* key) {
    const auto found = object.find(key);
    return found == object.end() || found->is_null() ? std::nullopt : std::optional<T>(found->get<T>());
}

run_number run_of(const json& o) {
    return run_number{o.at("run").get<std::uint64_t>()};
}
attempt_number attempt_of(const json& o) {
    return static_cast<attempt_number>(o.value("attempt", 1U));
}
wall_time time_at(const json& o) {
    return *parse_time(o.value("at", "2026-01-31T12:00:00.000Z"));
}

template<class Names>
auto place_of(const Names& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) - names.begin();
}

spending spent_of(const json& o) {
    const auto& t = o.at("tokens");
    return {{t.at("input"), t.at("cached"), t.at("output"), t.at("reasoning")}, maybe<double>(o, "usd")};
}

std::optional<milliseconds> span(const json& o, const char* key) {
    const auto count = maybe<std::int64_t>(o, key);
    return count ? std::optional(milliseconds(*count)) : std::nullopt;
}

assignment_token token_of(const json& o) {
    return {o.value("token_epoch", std::uint64_t{0}), o.value("token_count", std::uint64_t{0})};
}

outcome how_of(const json& o) {
    outcome how;
    how.status = *parse_outcome_status(o.at("status").get<std::string>());
    if (const auto kind = maybe<std::string>(o, "class")) {
        how.kind = parse_error_class(*kind);
    }
    how.message = o.value("message", "");
    return how;
}

record sweep_of(const json& o) {
    sweep_opened r;
    r.at = time_at(o);
    r.name = o.at("name");
    r.seed = o.value("seed", std::uint64_t{0});
    r.document = o.at("document").dump();
    r.file_text = r.document;
    r.prices_digest = o.value("prices_digest", "");
    r.repeats = o.at("repeats");
    r.cells = o.at("cells");
    r.total_runs = r.cells * r.repeats;
    return r;
}

record cell_of(const json& o) {
    return cell_described{cell_number{o.at("number").get<std::uint64_t>()},
                          o.at("id"),
                          o.at("label"),
                          o.at("values").dump(),
                          o.value("config_digest", ""),
                          o.value("environment_digest", ""),
                          o.value("image_digest", "")};
}

record start_of(const json& o) {
    attempt_started r;
    r.run = run_of(o);
    r.cell = cell_number{o.at("cell").get<std::uint64_t>()};
    r.repeat = o.at("repeat");
    r.id = *run_id::parse(o.at("id").get<std::string>());
    r.attempt = attempt_of(o);
    r.node = o.value("node", "local");
    r.token = token_of(o);
    r.at = time_at(o);
    r.seed = o.value("seed", std::uint64_t{0});
    r.reserved = {o.value("reserved_tokens", std::uint64_t{0}), o.value("reserved_usd", 0.0)};
    return r;
}

record evidence_of(const json& o) {
    evidence_kept r;
    r.run = run_of(o);
    r.attempt = attempt_of(o);
    r.token = token_of(o);
    r.node = o.value("node", "local");
    r.at = time_at(o);
    r.how = how_of(o);
    r.score = maybe<double>(o, "score");
    r.spent = spent_of(o);
    r.transcript = o.value("transcript", "");
    return r;
}

record end_of(const json& o) {
    attempt_ended r;
    r.run = run_of(o);
    r.attempt = attempt_of(o);
    r.at = time_at(o);
    r.how = how_of(o);
    r.score = maybe<double>(o, "score");
    for (const auto& score : o.value("step_scores", json::array())) {
        r.step_scores.push_back(score.is_null() ? std::nullopt : std::optional(score.get<double>()));
    }
    r.spent = spent_of(o);
    const auto took = o.value("took", json::object());
    r.took = {span(took, "prepare"), span(took, "setup"),    span(took, "agent"),
              span(took, "score"),   span(took, "teardown"), span(took, "whole")};
    if (o.contains("charged_tokens")) {
        r.charged = charge{o.at("charged_tokens"), o.at("charged_usd")};
    }
    r.transcript = o.value("transcript", "");
    r.means = static_cast<verdict>(place_of(verdict_names, o.at("verdict").get<std::string>()));
    return r;
}

record close_of(const json& o) {
    const auto counted = maybe<std::uint32_t>(o, "counted");
    return run_closed_without_attempt{
        run_of(o), time_at(o), static_cast<closing>(place_of(closing_names, o.at("why").get<std::string>())),
        o.value("message", ""), counted ? std::optional(static_cast<attempt_number>(*counted)) : std::nullopt};
}

record record_of(const json& line) {
    const auto& kind = line.begin().key();
    const auto& o = line.begin().value();
    if (kind == "sweep") {
        return sweep_of(o);
    }
    if (kind == "cell") {
        return cell_of(o);
    }
    if (kind == "start") {
        return start_of(o);
    }
    if (kind == "note") {
        return spending_noted{run_of(o), attempt_of(o), spent_of(o)};
    }
    if (kind == "end") {
        return end_of(o);
    }
    if (kind == "close") {
        return close_of(o);
    }
    if (kind == "requeue") {
        return run_requeued{run_of(o), time_at(o), o.value("message", "")};
    }
    if (kind == "evidence") {
        return evidence_of(o);
    }
    if (kind == "ended") {
        return sweep_ended{time_at(o), o.at("complete"), o.value("message", "")};
    }
    throw std::runtime_error("no record is called " + kind);
}

int write_journal(const std::filesystem::path& folder) {
    auto file =
        std::filesystem::exists(folder / journal_name) ? journal_file::resume(folder) : journal_file::create(folder);
    if (!file) {
        fmt::print(stderr, "{}\n", file.error().message);
        return 1;
    }
    std::string line;
    while (std::getline(std::cin, line)) {
        std::vector<record> batch;
        for (const auto& one : json::parse(line)) {
            batch.push_back(record_of(one));
        }
        if (const auto done = file->append(batch); !done) {
            fmt::print(stderr, "{}\n", done.error().message);
            return 1;
        }
        fmt::print("ok\n");
        std::fflush(stdout);
    }
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: chalk-journal-fixture FOLDER\n");
        return 2;
    }
    try {
        return write_journal(argv[1]);
    } catch (const std::exception& e) {
        fmt::print(stderr, "{}\n", e.what());
        return 1;
    }
}
