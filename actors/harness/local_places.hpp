/// A private folder for a run without a sandbox (--no-containerized): a workdir and copies of the environment's data,
/// so that concurrent runs do not meet. Given up with the object. There is no confinement here, and the note says so.
///
/// Owner: the run actor's site. All of it blocks: use it on a pool.
#pragma once

#include "actors/harness/interfaces.hpp"
#include "actors/harness/place_pool.hpp"

#include <memory>

namespace chalk::actors {

class local_places {
  public:
    /// The folder comes from `pool` and goes back to it. `artifacts` is where hand_over puts the run's artifacts;
    /// `python` holds the package chalk; `file_tool` is the helper behind the student's file tools. "builtin:noop" gets
    /// no folder at all. error_class::harness.
    [[nodiscard]] static result<std::unique_ptr<local_places>>
    make(std::shared_ptr<place_pool> pool, const config::run_config& config, std::filesystem::path artifacts,
         std::filesystem::path python, std::filesystem::path file_tool);
    local_places(const local_places&) = delete;
    local_places& operator=(const local_places&) = delete;
    /// Hands over and removes what is left; what cannot be handed over stays where it is.
    ~local_places();

    [[nodiscard]] harness_options options(config::run_config config, bool prepare_only) const;
    [[nodiscard]] bool has_folders() const noexcept { return !folder_.empty(); }
    /// What the run has put into its own folder for artifacts goes to `artifacts`, which most runs have no need of: it
    /// is made only then. Files of an earlier run stay, unless they have the same names. error_class::harness, with the
    /// folder in which they are: keep() it.
    [[nodiscard]] result<void> hand_over();
    /// Leaves the folder behind and says where it is.
    [[nodiscard]] std::filesystem::path keep() noexcept;
    /// error_class::harness, with the file that would not go. `ended_in_order`: nothing of the run is left, and its
    /// folder may be the next run's.
    [[nodiscard]] result<void> remove(bool ended_in_order);

  private:
    local_places() = default;

    std::shared_ptr<place_pool> pool_;
    std::filesystem::path folder_;
    std::filesystem::path artifacts_;
    harness_places places_;
    std::filesystem::path file_tool_;
};

} // namespace chalk::actors
