#include "actors/run/run_machine.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

run_machine::run_machine(run_mode mode, run_deadlines deadlines)
    : mode_(std::move(mode)), deadlines_(deadlines), delivered_(mode_.undelivered.empty()) {}

void run_machine::remark(const std::string& text) {
    if (!text.empty()) {
        remark_ += (remark_.empty() ? "" : "; ") + text;
    }
}

run_commands run_machine::begin() {
    if (stage_ != stage::waiting) {
        return {};
    }
    stage_ = stage::preparing;
    return {run_do::set_deadline{deadlines_.whole_run, deadline_kind::whole}, run_do::set_deadline{deadlines_.prepare},
            run_do::prepare{}};
}

run_commands run_machine::refuse(const failure& why) {
    run_commands out;
    if (stage_ == stage::waiting) {
        decide(out, outcome::error(why), false);
    }
    return out;
}

run_commands run_machine::prepared(const result<void>& how) {
    run_commands out;
    if (stage_ != stage::preparing) {
        return out;
    }
    if (cancel_reason_) {
        decide(out, outcome::cancelled(*cancel_reason_), false);
    } else if (!how) {
        decide(out, outcome::error(how.error()), false);
    } else {
        stage_ = stage::starting;
        out.emplace_back(run_do::set_deadline{deadlines_.start});
        out.emplace_back(run_do::start{});
    }
    return out;
}

run_commands run_machine::started(const result<void>& how) {
    run_commands out;
    if (stage_ != stage::starting) {
        return out;
    }
    if (!how) {
        decide(out, cancel_reason_ ? outcome::cancelled(*cancel_reason_) : outcome::error(how.error()), false);
        return out;
    }
    exists_ = true;
    channel_open_ = mode_.has_channel;
    stage_ = stage::running;
    if (cancel_reason_) {
        kill_now(out);
    } else {
        out.emplace_back(run_do::set_deadline{deadlines_.setup.value_or(deadlines_.first_event)});
    }
    return out;
}

run_commands run_machine::harness_prepared() {
    if (stage_ != stage::running || !mode_.prepare_only || was_prepared_) {
        return {};
    }
    was_prepared_ = true;
    heard_ = true;
    return {run_do::clear_deadline{}, run_do::announce_prepared{}};
}

bool run_machine::takes_events() const noexcept {
    return stage_ == stage::running && !outcome_;
}

run_commands run_machine::event_added(const std::optional<outcome>& final, std::optional<run_phase> phase) {
    run_commands out;
    if (!takes_events()) {
        return out;
    }
    if (final) {
        decide(out, *final, true);
        return out;
    }
    const bool first = !std::exchange(heard_, true);
    if (phase) {
        phase_ = *phase;
    }
    if ((!first && !phase) || cancel_reason_ || killing_) {
        return out;
    }
    const auto deadline = deadline_of(deadlines_, phase_);
    if (!deadline) {
        out.emplace_back(run_do::clear_deadline{});
    } else if (phase) { // what is said during the setup does not prolong it
        out.emplace_back(run_do::set_deadline{*deadline});
    }
    return out;
}

/// The outcome is known. `from_harness`: its final event is in the record already.
void run_machine::decide(run_commands& out, outcome o, bool from_harness) {
    stage_ = stage::ending;
    if (!from_harness) {
        if (o.status == outcome_status::error) {
            out.emplace_back(run_do::append{run_failed{*o.kind, o.message, {}}});
        } else {
            out.emplace_back(run_do::append{run_cancelled{o.message}});
        }
    }
    outcome_ = std::move(o);
    if (mode_.prepare_only || !mode_.transcript) {
        recorded_ = true;
    } else {
        out.emplace_back(run_do::record{});
    }
    if (exists_ && !killing_) {
        out.emplace_back(run_do::set_deadline{deadlines_.exit_after_final});
    } else if (!exists_) {
        removed_ = true;
        out.emplace_back(run_do::set_deadline{deadlines_.record});
    }
    settle(out);
}

void run_machine::kill_now(run_commands& out) {
    if (killing_ || end_) {
        return;
    }
    killing_ = true;
    out.emplace_back(run_do::kill{});
    out.emplace_back(run_do::set_deadline{deadlines_.kill_grace});
}

/// The host ends the run itself, for `why`.
void run_machine::fail(run_commands& out, failure why) {
    host_verdict_ = std::move(why);
    kill_now(out);
}

run_commands run_machine::channel_ended(const std::optional<failure>& why) {
    run_commands out;
    if (!channel_open_) {
        return out;
    }
    channel_open_ = false;
    if (why && !outcome_ && !host_verdict_) {
        fail(out, *why);
    }
    if (end_) {
        gone(out);
    } else if (!killing_ && !outcome_) {
        // EOF without a last word: the harness is dying. Its end says why; it may take a moment.
        out.emplace_back(run_do::set_deadline{deadlines_.drain});
    }
    return out;
}

run_commands run_machine::harness_misbehaved(const failure& why) {
    run_commands out;
    if (takes_events() && !host_verdict_) {
        fail(out, why);
    }
    return out;
}

run_commands run_machine::harness_ended(const harness_end& how) {
    run_commands out;
    if (!exists_ || end_) {
        return out;
    }
    end_ = how;
    if (channel_open_) {
        // What it said before it died is still in the socket.
        out.emplace_back(run_do::set_deadline{deadlines_.drain});
    } else {
        gone(out);
    }
    return out;
}

/// Nothing of the sandbox runs any more and all that it said was heard.
void run_machine::gone(run_commands& out) {
    if (stage_ == stage::running) {
        decide_by_end(out);
    }
    if (stage_ == stage::ending && !removing_ && !removed_) {
        removing_ = true;
        out.emplace_back(run_do::remove{});
        out.emplace_back(run_do::set_deadline{deadlines_.remove});
    }
}

void run_machine::decide_by_end(run_commands& out) {
    const harness_end how = end_.value_or(harness_end{});
    if (host_verdict_) {
        decide(out, outcome::error(*host_verdict_), false);
    } else if (cancel_reason_) {
        decide(out, outcome::cancelled(*cancel_reason_), false);
    } else if (how.memory_exhausted) {
        decide(out,
               outcome::error(error_class::sandbox,
                              fmt::format("the sandbox ran out of memory and its harness died ({}): give it more "
                                          "memory, or the task's own processes less",
                                          how.description)),
               false);
    } else {
        const std::string words = how.last_words.empty() ? std::string{} : "; its last words: " + how.last_words;
        decide(out,
               outcome::error(error_class::harness,
                              fmt::format("the harness ended without a final event ({}){}", how.description, words)),
               false);
    }
}

run_commands run_machine::cancel(const std::string& reason) {
    run_commands out;
    if (cancel_reason_ || outcome_) {
        return out;
    }
    cancel_reason_ = reason;
    switch (stage_) {
    case stage::waiting:
        decide(out, outcome::cancelled(reason), false);
        break;
    case stage::preparing:
    case stage::starting:
        // A blocking call is under way; it is waited for a little and then left to clean up after itself.
        out.emplace_back(run_do::set_deadline{deadlines_.cancel_grace});
        break;
    case stage::running:
        if (!killing_ && !end_) {
            out.emplace_back(run_do::cancel{reason});
            out.emplace_back(run_do::set_deadline{deadlines_.cancel_grace});
        }
        break;
    case stage::ending:
    case stage::ended:
        break;
    }
    return out;
}

run_commands run_machine::kill(const std::string& reason) {
    run_commands out;
    if (stage_ == stage::ended) {
        return out;
    }
    if (!cancel_reason_) {
        cancel_reason_ = reason;
    }
    if (stage_ == stage::waiting || stage_ == stage::preparing || stage_ == stage::starting) {
        decide(out, outcome::cancelled(*cancel_reason_), false);
    } else if (exists_) {
        kill_now(out);
    }
    if (stage_ == stage::ending && !delivered_) {
        give_up_delivery(); // whoever kills does not wait for a backend
        settle(out);
    }
    return out;
}

run_commands run_machine::cut_off(const failure& why) {
    run_commands out;
    if (stage_ == stage::waiting || stage_ == stage::preparing || stage_ == stage::starting) {
        decide(out, outcome::error(why), false);
    } else if (takes_events() && !host_verdict_ && !cancel_reason_) {
        fail(out, why);
    }
    return out;
}

run_commands run_machine::removed(const result<std::optional<std::filesystem::path>>& how) {
    run_commands out;
    if (removed_ || !removing_) {
        return out;
    }
    removed_ = true;
    if (!how) {
        remark("the run was not cleaned up completely: " + how.error().message);
    } else if (how.value()) {
        remark("the sandbox's files were kept at " + how.value()->string());
    }
    if (!recorded_) {
        out.emplace_back(run_do::set_deadline{deadlines_.record});
    }
    settle(out);
    return out;
}

run_commands run_machine::recorded(const result<void>& how) {
    run_commands out;
    if (recorded_ || stage_ != stage::ending) {
        return out;
    }
    recorded_ = true;
    if (!how) {
        // A run without its record has no result, whatever the judge said.
        outcome_ = outcome::error(how.error());
    }
    settle(out);
    return out;
}

run_commands run_machine::delivered(const std::string& how) {
    run_commands out;
    if (delivered_) {
        return out;
    }
    delivered_ = true;
    remark(how);
    settle(out);
    return out;
}

void run_machine::give_up_delivery() {
    delivered_ = true;
    remark(mode_.undelivered);
}

run_commands run_machine::deadline_passed(deadline_kind kind) {
    run_commands out;
    if (kind == deadline_kind::part) {
        part_passed(out);
    } else if (stage_ == stage::waiting || stage_ == stage::preparing || stage_ == stage::starting ||
               stage_ == stage::running) {
        return cut_off(took_too_long("the run", deadlines_.whole_run));
    }
    return out;
}

/// It survives its kill, or it is dead and its channel does not end: somebody else holds the socket.
void run_machine::stop_waiting_for_end(run_commands& out) {
    if (!end_) {
        remark("the sandbox did not end after its kill");
        end_ = harness_end{"did not end after its kill", false, {}};
    }
    channel_open_ = false;
    gone(out);
}

void run_machine::running_too_long(run_commands& out) {
    if (end_ || killing_) {
        stop_waiting_for_end(out);
    } else if (cancel_reason_) {
        kill_now(out);
    } else if (mode_.has_channel && !channel_open_) {
        fail(out, harness_failure("the harness closed its channel without a final event and did not end"));
    } else {
        fail(out, took_too_long(deadlines_, phase_));
    }
}

void run_machine::part_passed(run_commands& out) {
    switch (stage_) {
    case stage::waiting:
    case stage::ended:
        break;
    case stage::preparing:
    case stage::starting:
        if (cancel_reason_) {
            decide(out, outcome::cancelled(*cancel_reason_), false);
        } else {
            const auto why = stage_ == stage::preparing ? took_too_long("preparing the environment", deadlines_.prepare)
                                                        : took_too_long("starting the sandbox", deadlines_.start);
            decide(out, outcome::error(why), false);
        }
        break;
    case stage::running:
        running_too_long(out);
        break;
    case stage::ending:
        if (removing_ && !removed_) {
            removed_ = true;
            remark("removing the sandbox took too long; the next chalk start will remove what is left");
            if (!recorded_) {
                out.emplace_back(run_do::set_deadline{deadlines_.record});
            }
            settle(out);
        } else if (removed_ && !recorded_) {
            recorded_ = true;
            outcome_ = outcome::error(took_too_long("writing the transcript", deadlines_.record));
            settle(out);
        } else if (removed_) {
            give_up_delivery();
            settle(out);
        } else if (!end_ && !killing_) {
            kill_now(out);
        } else {
            stop_waiting_for_end(out);
        }
        break;
    }
}

void run_machine::settle(run_commands& out) {
    if (stage_ != stage::ending || !removed_ || !recorded_) {
        return;
    }
    if (!delivered_) {
        out.emplace_back(run_do::set_deadline{cancel_reason_ ? deadlines_.deliver_cancelled : deadlines_.deliver});
        return;
    }
    stage_ = stage::ended;
    out.emplace_back(run_do::clear_deadline{deadline_kind::part});
    out.emplace_back(run_do::clear_deadline{deadline_kind::whole});
    out.emplace_back(run_do::report{*outcome_, remark_});
}

} // namespace chalk::actors
