#include "actors/sweep/sweep_records.hpp"

#include "protocol/core/json_text.hpp"

namespace chalk::actors {

amount reservation_of(const run_order& order) {
    if (!order.models) {
        return {};
    }
    return {order.models->budget.tokens.value_or(0), order.models->budget.usd.value_or(0)};
}

journal::attempt_started started_record(const run_order& order, const sweep_journal& journal, amount reserved,
                                        const std::string& node, journal::assignment_token token) {
    journal::attempt_started what;
    what.run = number_of(order.key, journal.repeats);
    what.cell = journal::cell_number{order.key.cell};
    what.repeat = order.key.index;
    what.id = order.config.id;
    what.attempt = order.attempt;
    what.node = node;
    what.token = token;
    what.at = std::chrono::system_clock::now();
    what.seed = order.config.seed.value_or(0);
    what.reserved = {reserved.tokens, reserved.usd};
    return what;
}

journal::verdict verdict_of(schedule::verdict said, bool sealed) {
    switch (said) {
    case schedule::verdict::retried:
        return journal::verdict::retried;
    case schedule::verdict::forgiven:
    case schedule::verdict::returned:
        return journal::verdict::lost;
    case schedule::verdict::counts:
    case schedule::verdict::unknown:
        break;
    }
    return sealed ? journal::verdict::sealed : journal::verdict::counts;
}

journal::attempt_ended ended_record(const run_result& what, const sweep_journal& journal, journal::verdict means) {
    journal::attempt_ended out;
    out.run = number_of(what.order->key, journal.repeats);
    out.attempt = what.order->attempt;
    out.at = std::chrono::system_clock::now();
    out.how = what.how;
    out.how.message = to_valid_utf8(out.how.message);
    out.score = what.score;
    out.step_scores = what.step_scores;
    out.spent = what.spent;
    out.took = what.took;
    if (what.has_transcript) {
        out.transcript = what.order->config.transcript_file.lexically_relative(journal.folder).string();
    }
    out.means = means;
    return out;
}

} // namespace chalk::actors
