/// What a sweep writes into its journal of the attempts it starts and ends. Pure.
#pragma once

#include "actors/run/run_order.hpp"
#include "actors/sweep/spending_book.hpp"
#include "actors/sweep/sweep_control.hpp"

namespace chalk::actors {

/// What the attempt may spend at most, as far as its own budget says.
[[nodiscard]] amount reservation_of(const run_order& order);

/// `node` has it, under that token; on this machine there is none.
[[nodiscard]] journal::attempt_started started_record(const run_order& order, const sweep_journal& journal,
                                                      amount reserved, const std::string& node,
                                                      journal::assignment_token token = {});

/// `sealed`: it was cut off by seal_at.
[[nodiscard]] journal::verdict verdict_of(schedule::verdict said, bool sealed);

[[nodiscard]] journal::attempt_ended ended_record(const run_result& what, const sweep_journal& journal,
                                                  journal::verdict means);

} // namespace chalk::actors
