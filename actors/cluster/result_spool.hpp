/// Where a node keeps the result of each ended attempt until its coordinator has it: a folder an attempt,
/// `<cell>-<index>.<attempt>.<epoch>-<count>`, into which the attempt's files are written from the start, so that
/// nothing is copied. `result.json` is written last, and is there whole or not at all: a folder without it is of an
/// attempt that died with its node. So a node that was killed, or lost power, finds what it had finished and nothing
/// else.
///
/// Pure of actors; all of it blocks. Any thread, but one call at a time for each name. Owner: the node agent. Nobody
/// else uses the folder meanwhile: whoever starts a node holds a lock.
#pragma once

#include "actors/cluster/result_fence.hpp"
#include "protocol/core/result.hpp"

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace chalk::actors {

/// The name of an attempt's folder.
[[nodiscard]] std::string to_folder_name(const assignment_name& name);
/// nullopt: no attempt's folder is called so.
[[nodiscard]] std::optional<assignment_name> parse_folder_name(std::string_view text);

class result_spool {
  public:
    struct found {
        std::vector<assignment_name> whole; ///< in the order of their names
        /// What lies there and is none of ours, or could not be removed: it was left alone. Why, one each, for a
        /// person.
        std::vector<std::string> left;
    };
    struct entry {
        assignment_name name;
        std::string sheet; ///< 1 byte to longest_result_sheet
    };

    /// The folder is made by the first call that needs it.
    explicit result_spool(std::filesystem::path folder) : folder_(std::move(folder)) {}

    /// At a node's start, before any attempt: what is whole; the folders of attempts that died are removed.
    /// error_class::harness: the folder cannot be made or read.
    [[nodiscard]] result<found> open();

    /// Where the attempt's files go.
    [[nodiscard]] std::filesystem::path folder_of(const assignment_name& name) const {
        return folder_ / to_folder_name(name);
    }
    /// Makes that folder, unless it is there. error_class::harness.
    [[nodiscard]] result<void> begin(const assignment_name& name);
    /// Keeps the results of attempts that are over, durably; the syncs of all are paid together. One answer each, in
    /// their order. error_class::harness: it is not kept, and may be tried again.
    [[nodiscard]] std::vector<result<void>> keep(const std::vector<entry>& ended);
    /// What was kept. error_class::harness.
    [[nodiscard]] result<std::string> read(const assignment_name& name) const;
    /// The attempt's folder goes, the result first: what a kill leaves of it is none. Nothing there is fine.
    /// error_class::harness.
    [[nodiscard]] result<void> remove(const assignment_name& name);

  private:
    std::filesystem::path folder_;
};

} // namespace chalk::actors
