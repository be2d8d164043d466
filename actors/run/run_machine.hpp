/// The life of one run as the host sees it: what each fact leads to. Pure: the run actor feeds it facts and carries out
/// what it answers. However the facts come (late, twice, in another order), it reports exactly one outcome.
///
///     waiting -> preparing -> starting -> running -> ending -> ended
///
/// `ending` begins when the outcome is known; what is then still open (the sandbox's end, its removal, the transcript)
/// goes on side by side, and the report comes when all of it is done or given up. A backend that has
/// not taken all events yet gets a moment more, and no part in the outcome.
///
/// Owner: the run actor.
#pragma once

#include "actors/run/run_deadlines.hpp"
#include "protocol/core/outcome.hpp"
#include "protocol/core/result.hpp"
#include "protocol/event/event.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace chalk::actors {

struct run_mode {
    bool has_channel = true;   ///< false: the harness is an actor of this process
    bool prepare_only = false; ///< no step runs; no transcript
    bool transcript = true;
    /// The remark on a run whose backend did not take all events in time. Empty: it has no backend.
    std::string undelivered = {};
};

/// A run has two deadlines: of what it is at, and of the whole.
enum class deadline_kind { part, whole };

/// How a harness ended, in a sandbox or as an actor.
struct harness_end {
    std::string description; ///< "exit code 3", "killed by signal 9 (SIGKILL)"
    bool memory_exhausted = false;
    std::string last_words; ///< the end of its stderr
};

/// What the run actor must do next.
namespace run_do {
struct prepare {};
struct start {};
struct announce_prepared {}; ///< --prepare-only: tell the user
struct cancel {              ///< ask the harness to end in order
    std::string reason;
};
struct kill {};
struct remove {};
struct append { ///< the host's own last word on the run: becomes the transcript's final event
    event_body body;
};
struct record {}; ///< write the transcript
struct set_deadline {
    milliseconds after{0};
    deadline_kind kind = deadline_kind::part;
};
struct clear_deadline {
    deadline_kind kind = deadline_kind::part;
};
struct report {
    outcome result;
    std::string remark; ///< what was left behind or kept; empty as a rule
};
} // namespace run_do

using run_command = std::variant<run_do::prepare, run_do::start, run_do::announce_prepared, run_do::cancel,
                                 run_do::kill, run_do::remove, run_do::append, run_do::record, run_do::set_deadline,
                                 run_do::clear_deadline, run_do::report>;
using run_commands = std::vector<run_command>;

class run_machine {
  public:
    enum class stage { waiting, preparing, starting, running, ending, ended };

    run_machine(run_mode mode, run_deadlines deadlines);

    [[nodiscard]] run_commands begin();
    /// Instead of begin: the run cannot even begin.
    [[nodiscard]] run_commands refuse(const failure& why);
    [[nodiscard]] run_commands prepared(const result<void>& how);
    [[nodiscard]] run_commands started(const result<void>& how);
    /// --prepare-only: the harness waits.
    [[nodiscard]] run_commands harness_prepared();
    /// True while an event is part of the run: nothing follows the final one.
    [[nodiscard]] bool takes_events() const noexcept;
    /// An event was added to the record. `final` is outcome_of(it), `phase` what it begins, if anything.
    [[nodiscard]] run_commands event_added(const std::optional<outcome>& final,
                                           std::optional<run_phase> phase = std::nullopt);
    /// The channel ended; `why` when it broke.
    [[nodiscard]] run_commands channel_ended(const std::optional<failure>& why);
    /// The harness broke the protocol in what it said: it is killed, and `why` is the outcome.
    [[nodiscard]] run_commands harness_misbehaved(const failure& why);
    [[nodiscard]] run_commands harness_ended(const harness_end& how);
    [[nodiscard]] run_commands cancel(const std::string& reason);
    /// As cancel, without asking the harness.
    [[nodiscard]] run_commands kill(const std::string& reason);
    /// The sweep does not wait for this run any longer: it ends as an error, for `why`.
    [[nodiscard]] run_commands cut_off(const failure& why);
    [[nodiscard]] run_commands removed(const result<std::optional<std::filesystem::path>>& how);
    [[nodiscard]] run_commands recorded(const result<void>& how);
    /// The backend has all events, or gets no more: `remark` then says what is left.
    [[nodiscard]] run_commands delivered(const std::string& remark);
    [[nodiscard]] run_commands deadline_passed(deadline_kind kind = deadline_kind::part);

    [[nodiscard]] stage where() const noexcept { return stage_; }

  private:
    void decide(run_commands& out, outcome o, bool from_harness);
    void decide_by_end(run_commands& out);
    void fail(run_commands& out, failure why);
    void kill_now(run_commands& out);
    void gone(run_commands& out);
    void settle(run_commands& out);
    void give_up_delivery();
    void remark(const std::string& text);
    void part_passed(run_commands& out);
    void running_too_long(run_commands& out);
    void stop_waiting_for_end(run_commands& out);

    run_mode mode_;
    run_deadlines deadlines_;
    stage stage_ = stage::waiting;
    run_phase phase_ = run_phase::setup;
    bool heard_ = false; ///< the harness said something
    bool was_prepared_ = false;
    bool killing_ = false;
    bool exists_ = false; ///< there is a sandbox (or a harness actor)
    bool channel_open_ = false;
    std::optional<harness_end> end_;
    std::optional<failure> channel_problem_;
    std::optional<std::string> cancel_reason_;
    std::optional<failure> host_verdict_; ///< a deadline or a broken channel made us kill it
    std::optional<outcome> outcome_;
    bool removing_ = false;
    bool removed_ = false;
    bool recorded_ = false;
    bool delivered_ = false;
    std::string remark_;
};

} // namespace chalk::actors
