/// Turns what only a cluster has (leases, late results) into rows, inside the writer's transaction. Every statement is
/// prepared once. A record that contradicts the journal is refused with trouble::contradiction.
///
/// Owner: the writer.
#pragma once

#include "protocol/journal/database.hpp"
#include "protocol/journal/records.hpp"

namespace chalk::journal {

class cluster_writer {
  public:
    [[nodiscard]] static result<cluster_writer> make(database& journal);

    [[nodiscard]] result<void> write(const lease_granted& r);
    [[nodiscard]] result<void> write(const lease_ended& r);
    [[nodiscard]] result<void> write(const evidence_kept& r);

  private:
    explicit cluster_writer(database& journal) : journal_(&journal) {}
    /// Runs `s`, which must change one row; `broken` says what it means when it does not.
    result<void> change_one(statement& s, const std::string& node, std::string_view broken);

    database* journal_;
    statement grant_;
    statement end_lease_;
    statement was_assigned_;
    statement keep_;
};

} // namespace chalk::journal
