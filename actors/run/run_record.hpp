/// All that is known of one run: its events with the host's own sequence numbers, folded into a transcript. The run
/// actor fills it; the node keeps a pointer to it too, so that a run whose actor crashed still gets its transcript.
///
/// Not thread-safe: filled by one actor at a time (the node takes over after the run's DOWN), read-only once sealed.
#pragma once

#include "protocol/gateway/account.hpp"
#include "protocol/journal/records.hpp"
#include "protocol/transcript/transcript.hpp"

#include <cstdint>
#include <memory>
#include <optional>

namespace chalk::actors {

struct run_result;

class run_record {
  public:
    explicit run_record(transcript_header header) : builder_(std::move(header)) {}

    /// One more event of the harness. Its number must follow on the harness's last one, or error_class::harness.
    /// Returns the event under the record's own number, which differs once the host has said something itself.
    [[nodiscard]] result<event_ptr> add(const event_ptr& from_harness);

    /// An event of the host's own: what it did for the run, or its last word on it.
    event_ptr add_own(event_body body, wall_time now);

    /// What the gateway has on the run's account becomes a part of the document. Null: it has none.
    void keep_account(std::shared_ptr<const gateway::account> account) { account_ = std::move(account); }

    [[nodiscard]] const gateway::account* account() const noexcept { return account_.get(); }

    /// A final event was added: nothing follows.
    [[nodiscard]] bool sealed() const noexcept { return final_.has_value(); }
    [[nodiscard]] const std::optional<outcome>& final_outcome() const noexcept { return final_; }
    [[nodiscard]] json document() const;
    [[nodiscard]] std::optional<double> score() const { return builder_.score(); }
    /// By step; those that were skipped, and those of a run without a score, too.
    [[nodiscard]] std::vector<std::optional<double>> step_scores() const { return step_scores_; }
    /// By the gateway's account, or what the events say where there is none.
    [[nodiscard]] journal::spending spent() const;
    [[nodiscard]] std::optional<wall_time> first_time() const noexcept { return first_; }
    [[nodiscard]] wall_time last_time() const noexcept { return last_; }

  private:
    void keep(const event_ptr& e);
    void note_figures(const event_body& body);

    transcript_builder builder_;
    std::shared_ptr<const gateway::account> account_;
    std::uint64_t last_seq_ = 0;
    std::uint64_t harness_seq_ = 0;
    std::optional<wall_time> first_;
    wall_time last_;
    std::optional<outcome> final_;
    token_usage usage_; ///< of all messages
    std::vector<std::optional<double>> step_scores_;
};

/// What the record says of the attempt's score and spending.
void add_figures(run_result& what, const run_record& record);

} // namespace chalk::actors
