/// From a cell and a repeat to the config of a run. Owned by the sweep; holds a few resolved cells and nothing that
/// grows with the number of runs.
#pragma once

#include "config/seed.hpp"
#include "config/sweep/sweep_file.hpp"

#include <cstdint>
#include <filesystem>
#include <list>
#include <memory>
#include <string>
#include <vector>

namespace chalk::config {

/// A cell with its config: the base with the cell's values. `config` has no run_id, seed or transcript_file yet.
struct resolved_cell {
    cell_values values;
    run_config config;
};

class sweep_runs {
  public:
    /// `out` is the sweep's folder; transcripts go below it, as it is written here.
    sweep_runs(loaded_sweep_file loaded, std::filesystem::path out);

    [[nodiscard]] const loaded_sweep_file& file() const noexcept { return loaded_; }
    [[nodiscard]] const sweep_matrix& matrix() const noexcept { return loaded_.matrix; }
    [[nodiscard]] std::uint64_t repeats() const noexcept { return loaded_.sweep.repeat; }

    /// `number` is below matrix().combinations(). Shared with the cache of cells used last.
    [[nodiscard]] std::shared_ptr<const resolved_cell> cell(std::uint64_t number);

    /// Where the values of a cell's config come from, by JSON path, as `chalk config show` has it.
    [[nodiscard]] provenance sources(const resolved_cell& cell) const;

    /// "<name>.<cell id>.<repeat>"; `repeat` is below repeats().
    [[nodiscard]] run_id id(const resolved_cell& cell, std::uint64_t repeat) const;

    /// The config of an attempt: the cell's, with id, seed and transcript_file
    /// ("<out>/runs/<run_id>/attempt-<k>/transcript.json").
    [[nodiscard]] run_config run(const resolved_cell& cell, std::uint64_t repeat, attempt_number attempt) const;

    /// Every environment that a cell may have, each once. Cells that filters leave out count too.
    [[nodiscard]] std::vector<std::filesystem::path> environments() const;

  private:
    [[nodiscard]] std::shared_ptr<const resolved_cell> resolve(std::uint64_t number) const;

    loaded_sweep_file loaded_;
    std::filesystem::path out_;
    std::list<std::shared_ptr<const resolved_cell>> last_used_; ///< newest first
};

/// "<out>/runs/<run_id>/attempt-<k>"
[[nodiscard]] std::filesystem::path attempt_folder(const std::filesystem::path& out, const run_id& id,
                                                   attempt_number attempt);

} // namespace chalk::config
