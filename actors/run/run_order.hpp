/// What a sweep asks a node to run, and what it gets back. Immutable and shared: no message copies a config.
#pragma once

#include "actors/node/ledger.hpp"
#include "actors/run/run_machine.hpp"
#include "actors/sweep/schedule.hpp"
#include "config/run_config.hpp"
#include "protocol/backend/target.hpp"
#include "protocol/core/ids.hpp"
#include "protocol/gateway/account.hpp"
#include "protocol/journal/records.hpp"
#include "protocol/transcript/transcript.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace chalk::actors {

/// Whom a run's events are sent to, and where they are kept until they are there.
struct run_backend {
    backend::target to;
    backend::stream of;
    std::filesystem::path spool_folder;
};

/// One attempt at one run.
struct run_order {
    run_key key;
    attempt_number attempt{1};
    std::string cell_label; ///< for people; empty where there is but one cell
    config::run_config config;
    transcript_header header;
    std::filesystem::path artifacts_folder; ///< of the host; appears as /out in the sandbox
    resources reservation;
    /// Which models it may ask through the gateway, and for how much; absent: none (a fake model).
    std::optional<gateway::account_settings> models;
    std::optional<run_backend> backend; ///< absent: none
    bool sandboxed = true;              ///< false: --no-containerized, the harness is an actor of this process
    bool prepare_only = false;
    bool transcript = true;         ///< false: its outcome alone is kept (`chalk bench dispatch`)
    bool mcp_port = true;           ///< false: a local harness's tool server opens none (the same)
    std::optional<failure> refused; ///< why it cannot even begin: its outcome
    run_deadlines deadlines;
    sandbox_request request; ///< of a sandboxed run
    std::string host_note;   ///< what the log of each run says of its sandbox, e.g. that it shares the host's kernel
};
using order_ptr = std::shared_ptr<const run_order>;

struct run_result {
    order_ptr order;
    outcome how;
    std::optional<double> score;
    std::optional<milliseconds> duration;           ///< from its first to its last event; absent when it never began
    std::vector<std::optional<double>> step_scores; ///< by step; nullopt: it was not judged
    journal::spending spent;
    journal::stage_durations took;
    bool withdrawn = false; ///< given back by its node before it began: it has no outcome
    bool has_transcript = false;
    bool node_was_short = false; ///< of a cluster's node, as run_finished says it of this machine
    std::string remark;          ///< what was kept or left behind; empty as a rule
};
using result_ptr = std::shared_ptr<const run_result>;

/// Hears how a sweep goes. Called by actors, from any thread; must not block.
class watcher {
  public:
    watcher() = default;
    watcher(const watcher&) = delete;
    watcher& operator=(const watcher&) = delete;
    virtual ~watcher() = default;

    /// False: run_event is never called, which saves its cost.
    [[nodiscard]] virtual bool wants_events() const noexcept = 0;
    virtual void run_began(const run_order& order) = 0;
    virtual void run_event(const run_order& order, const event_ptr& e) = 0;
    /// --prepare-only: the sandbox is ready.
    virtual void run_prepared(const run_order& order) = 0;
    virtual void run_finished(const run_result& what, const sweep_counts& counts) = 0;
    /// An attempt that is not its run's outcome: another one follows.
    virtual void attempt_finished(const run_result& what, const sweep_counts& counts) = 0;
    /// What a user should know of the sweep as a whole, e.g. that a breaker opened or why nothing starts.
    virtual void sweep_said(const std::string& text) = 0;
    /// Last call. No run is out any more. `trouble` when the sweep itself had to give up.
    virtual void sweep_finished(const sweep_counts& counts, const std::optional<failure>& trouble) = 0;
};

} // namespace chalk::actors
