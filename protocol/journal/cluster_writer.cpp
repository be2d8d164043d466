#include "protocol/journal/cluster_writer.hpp"

#include "protocol/journal/row_values.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace chalk::journal {

namespace {

// The table's key keeps a number from being given twice, its index a node from holding two leases.
constexpr std::string_view grant_lease_sql =
    "INSERT INTO lease (epoch, count, node, length_ms, granted_ms) VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT DO NOTHING";

constexpr std::string_view end_lease_sql =
    "UPDATE lease SET ended_ms = ?4 WHERE epoch = ?1 AND count = ?2 AND node = ?3 AND ended_ms IS NULL";

constexpr std::string_view was_assigned_sql =
    "SELECT 1 FROM attempt WHERE run = ?1 AND attempt = ?2 AND token_epoch = ?3 AND token_count = ?4";

constexpr std::string_view keep_evidence_sql =
    "INSERT INTO evidence (run, attempt, token_epoch, token_count, node, kept_ms, status, class, message, score, "
    "input, cached, output, reasoning, usd, transcript) "
    "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16) ON CONFLICT DO NOTHING";

} // namespace

result<cluster_writer> cluster_writer::make(database& journal) {
    cluster_writer made(journal);
    const std::pair<statement*, std::string_view> wanted[] = {
        {&made.grant_, grant_lease_sql},
        {&made.end_lease_, end_lease_sql},
        {&made.was_assigned_, was_assigned_sql},
        {&made.keep_, keep_evidence_sql},
    };
    for (const auto& [into, sql] : wanted) {
        auto prepared = journal.prepare(sql);
        if (!prepared) {
            return prepared.error();
        }
        *into = std::move(*prepared);
    }
    return made;
}

result<void> cluster_writer::change_one(statement& s, const std::string& node, std::string_view broken) {
    if (auto done = s.run(); !done) {
        return done;
    }
    if (journal_->changes() != 1) {
        return journal_->contradiction(fmt::format("node {}: {}", node, broken));
    }
    return {};
}

result<void> cluster_writer::write(const lease_granted& r) {
    // One of no length would be over at once for a coordinator that is started again.
    if (r.node.empty() || r.number.is_none() || r.length <= milliseconds(0)) {
        return journal_->contradiction(
            fmt::format("node \"{}\": a lease without a node, a number or a length", r.node));
    }
    auto& s = grant_;
    bind_token(s, 1, r.number);
    s.bind(3, r.node);
    s.bind(4, static_cast<std::int64_t>(r.length.count()));
    s.bind(5, milliseconds_of(r.at));
    return change_one(s, r.node, "it cannot be granted a lease: it holds one, or that number was given before");
}

result<void> cluster_writer::write(const lease_ended& r) {
    auto& s = end_lease_;
    bind_token(s, 1, r.number);
    s.bind(3, r.node);
    s.bind(4, milliseconds_of(r.at));
    return change_one(s, r.node, "the end of a lease that it was never granted, or that has ended");
}

result<void> cluster_writer::write(const evidence_kept& r) {
    if (r.score && !std::isfinite(*r.score)) {
        return journal_->contradiction(
            fmt::format("run {}: late evidence with a score that is no finite number", row_number(r.run)));
    }
    was_assigned_.bind(1, row_number(r.run));
    was_assigned_.bind(2, row_number(r.attempt));
    bind_token(was_assigned_, 3, r.token);
    const auto was = was_assigned_.step();
    was_assigned_.reset();
    if (!was) {
        return was.error();
    }
    if (!*was || r.token.is_none()) {
        return journal_->contradiction(fmt::format("run {}: evidence of attempt {} for what was never assigned",
                                                   row_number(r.run), row_number(r.attempt)));
    }
    auto& s = keep_;
    s.bind(1, row_number(r.run));
    s.bind(2, row_number(r.attempt));
    bind_token(s, 3, r.token);
    s.bind(5, r.node);
    s.bind(6, milliseconds_of(r.at));
    bind_outcome(s, 7, r.how);
    s.bind(10, r.score);
    bind_spending(s, 11, r.spent);
    s.bind(16, r.transcript);
    return s.run(); // one that is there already stays as it is
}

} // namespace chalk::journal
