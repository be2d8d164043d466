/// Turns records into rows, inside a transaction that the journal_file opens and ends. Every statement is prepared
/// once.
///
/// It also holds the journal's invariants: an attempt starts once and ends once, in order; a run is closed once. A
/// record that breaks one is refused with trouble::contradiction.
#pragma once

#include "protocol/journal/cluster_writer.hpp"
#include "protocol/journal/database.hpp"
#include "protocol/journal/records.hpp"

#include <optional>

namespace chalk::journal {

class writer {
  public:
    /// `session`: row of the process that writes.
    [[nodiscard]] static result<writer> make(database& journal, std::int64_t session);

    [[nodiscard]] result<void> begin() { return begin_.run(); }
    [[nodiscard]] result<void> add(const record& what);
    [[nodiscard]] result<void> commit() { return commit_.run(); }
    /// After a failure. SQLite may have rolled back by itself; then there is nothing left to do.
    void roll_back() noexcept;

  private:
    writer(database& journal, std::int64_t session) : journal_(&journal), session_(session) {}

    result<void> write(const sweep_opened& r);
    result<void> write(const cell_described& r);
    result<void> write(const attempt_started& r);
    result<void> write(const spending_noted& r);
    result<void> write(const attempt_ended& r);
    result<void> write(const run_closed_without_attempt& r);
    result<void> write(const run_requeued& r);
    result<void> write(const sweep_ended& r);
    result<void> write(const lease_granted& r) { return cluster_->write(r); }
    result<void> write(const lease_ended& r) { return cluster_->write(r); }
    result<void> write(const evidence_kept& r) { return cluster_->write(r); }
    /// Runs `s`, which must change one row; `broken` says what it means when it does not.
    result<void> change_one(statement& s, run_number run, std::string_view broken);
    result<void> close(run_number run, wall_time at, std::optional<attempt_number> counted, std::optional<closing> why,
                       const std::string& message);

    database* journal_;
    std::int64_t session_;
    statement begin_;
    statement commit_;
    statement roll_back_;
    statement open_sweep_;
    statement describe_cell_;
    statement may_start_;
    statement start_;
    statement note_;
    statement end_;
    statement close_;
    statement keep_closing_;
    statement reopen_;
    statement end_sweep_;
    std::optional<cluster_writer> cluster_; // there from make() on
};

} // namespace chalk::journal
