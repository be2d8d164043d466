/// What a node and its coordinator say to one another of runs (docs/protocols/cluster-messages.md). Bounds are as in
/// lease_messages.hpp.
#pragma once

#include "actors/cluster/lease_messages.hpp"
#include "actors/cluster/result_fence.hpp"

#include <caf/all.hpp>

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <utility>

namespace chalk::actors {

/// Coordinator to a node that it has dialled: say hello. A node that dialled does so by itself.
struct call_in {};

/// Answer to hello: it may not come in. Its link is cut; it may try again later.
struct join_refused {
    std::string why;
};

/// Answer to renew_lease: that lease has ended. Whatever runs under it counts no more; the node stops it and joins
/// anew.
struct lease_over {
    lease_number number;
    std::string why;
};

/// Node to coordinator, after each lease_granted: all that it has of this coordinator's. Those that run or wait there,
/// and those whose results it keeps.
struct runs_kept {
    std::set<assignment_name> running;
    std::set<assignment_name> ended;
};

/// Coordinator to node, before the first run_assigned on a link: what all runs of the sweep share
/// (cli/cluster/sweep_sheet.hpp).
struct sweep_described {
    std::string sheet;
};

/// Coordinator to node: run it (cli/cluster/run_sheet.hpp). Of a name that it has already it changes nothing.
struct run_assigned {
    assignment_name name;
    std::string sheet;
};

/// Coordinator to node: it counts no more. What runs is killed, what is kept is removed, and nothing more is said of
/// it.
struct run_dropped {
    assignment_name name;
};

/// Node to coordinator: the attempt is over and its files have landed (actors/cluster/result_sheet.hpp). Said again on
/// each new link until result_taken.
struct run_ended {
    assignment_name name;
    std::string sheet;
};

/// Coordinator to node: the outcome is durable, or the result does not count: it need not be kept.
struct result_taken {
    assignment_name name;
};

/// Node to coordinator: what the attempt has spent so far, as JSON.
struct run_noted {
    assignment_name name;
    std::string spent;
};

/// Node to coordinator: what a person should know of the node.
struct node_told {
    std::string text;
    bool is_short = false; ///< as node_said
};

/// Node to coordinator: it holds an environment or image now, or no more.
struct digest_changed {
    std::string digest;
    bool holds = false;
};

/// Coordinator to node: try your runtimes. Answer: node_probed.
struct probe_wanted {};
struct node_probed {
    bool passed = false;
    std::string text; ///< what is wrong
};

/// Coordinator to node: as cancel_runs, or with `at_once` as kill_runs.
struct runs_cancelled {
    std::string reason;
    bool at_once = false;
};

/// Coordinator to node: as cut_off_runs.
struct runs_cut_off {
    std::string why;
};

/// Coordinator to node: as withdraw_runs. Those that did not begin come back as run_ended that says so.
struct runs_withdrawn {};

/// Coordinator to node: nothing more comes. The node gives its lease up when nothing runs any more.
struct sweep_over {};

/// Bytes of a text that goes into one of these messages; a longer one is refused by its receiver.
constexpr std::size_t longest_sweep_sheet = 15U << 20U; ///< below what a link carries
constexpr std::size_t longest_run_sheet = 9U << 20U;
constexpr std::size_t longest_result_sheet = 2U << 20U; ///< result_sheet.hpp
constexpr std::size_t longest_word = 4096;              ///< of what is said to a person
/// Attempts that one node may have, those whose results it keeps among them.
constexpr std::size_t most_kept_runs = 65'536;

/// `text`, cut at longest_word.
[[nodiscard]] std::string bounded_word(std::string text);

/// A text of at most `most` bytes.
[[nodiscard]] caf::error check_text(const std::string& text, std::size_t most);
/// A line each.
[[nodiscard]] std::string join_assignments(const std::set<assignment_name>& names);
[[nodiscard]] result<std::set<assignment_name>> split_assignments(std::string_view text);

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_key& x) {
    return f(caf::meta::type_name("run_key"), x.cell, x.index);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, assignment_name& x) {
    auto attempt = static_cast<std::uint32_t>(x.attempt);
    auto load = [&]() -> caf::error {
        x.attempt = attempt_number{attempt};
        return caf::none;
    };
    return f(caf::meta::type_name("assignment_name"), x.run, attempt, x.token, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, call_in&) {
    return f(caf::meta::type_name("call_in"));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, join_refused& x) {
    auto load = [&] { return check_text(x.why, longest_word); };
    return f(caf::meta::type_name("join_refused"), x.why, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, lease_over& x) {
    auto load = [&] { return check_text(x.why, longest_word); };
    return f(caf::meta::type_name("lease_over"), x.number, x.why, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, runs_kept& x) {
    std::string running;
    std::string ended;
    if constexpr (Inspector::reads_state) {
        running = join_assignments(x.running);
        ended = join_assignments(x.ended);
    }
    auto load = [&]() -> caf::error {
        auto of_running = split_assignments(running);
        auto of_ended = split_assignments(ended);
        if (!of_running || !of_ended) {
            return caf::make_error(caf::sec::invalid_argument, "a list of attempts that cannot be read");
        }
        x.running = std::move(*of_running);
        x.ended = std::move(*of_ended);
        return caf::none;
    };
    return f(caf::meta::type_name("runs_kept"), running, ended, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, sweep_described& x) {
    auto load = [&] { return check_text(x.sheet, longest_sweep_sheet); };
    return f(caf::meta::type_name("sweep_described"), x.sheet, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_assigned& x) {
    auto load = [&] { return check_text(x.sheet, longest_run_sheet); };
    return f(caf::meta::type_name("run_assigned"), x.name, x.sheet, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_dropped& x) {
    return f(caf::meta::type_name("run_dropped"), x.name);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_ended& x) {
    auto load = [&] { return check_text(x.sheet, longest_result_sheet); };
    return f(caf::meta::type_name("run_ended"), x.name, x.sheet, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, result_taken& x) {
    return f(caf::meta::type_name("result_taken"), x.name);
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, run_noted& x) {
    auto load = [&] { return check_text(x.spent, longest_word); };
    return f(caf::meta::type_name("run_noted"), x.name, x.spent, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_told& x) {
    auto load = [&] { return check_text(x.text, longest_word); };
    return f(caf::meta::type_name("node_told"), x.text, x.is_short, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, digest_changed& x) {
    auto load = [&] { return check_text(x.digest, held_limits.longest); };
    return f(caf::meta::type_name("digest_changed"), x.digest, x.holds, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, probe_wanted&) {
    return f(caf::meta::type_name("probe_wanted"));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, node_probed& x) {
    auto load = [&] { return check_text(x.text, longest_word); };
    return f(caf::meta::type_name("node_probed"), x.passed, x.text, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, runs_cancelled& x) {
    auto load = [&] { return check_text(x.reason, longest_word); };
    return f(caf::meta::type_name("runs_cancelled"), x.reason, x.at_once, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, runs_cut_off& x) {
    auto load = [&] { return check_text(x.why, longest_word); };
    return f(caf::meta::type_name("runs_cut_off"), x.why, caf::meta::load_callback(load));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, runs_withdrawn&) {
    return f(caf::meta::type_name("runs_withdrawn"));
}

template<class Inspector>
typename Inspector::result_type inspect(Inspector& f, sweep_over&) {
    return f(caf::meta::type_name("sweep_over"));
}

} // namespace chalk::actors
