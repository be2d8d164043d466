/// What the namespaces runtime needs of a machine, and what it finds on it.
#pragma once

#include "runtimes/namespaces/ids.hpp"
#include "runtimes/namespaces/nest_client.hpp"
#include "runtimes/namespaces/orders.hpp"
#include "runtimes/runtime.hpp"

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

namespace chalk::namespaces {

/// /run/chalk for root; else $XDG_RUNTIME_DIR/chalk, or /tmp/chalk-<uid>. Holds a folder per owner and nothing else.
[[nodiscard]] std::filesystem::path default_state_folder();

/// In /usr/bin, /bin, /usr/local/bin or /usr/sbin.
[[nodiscard]] std::optional<std::filesystem::path> find_program(std::string_view name);

/// Runs chalk-nest's "give" (nest/give.hpp), which does without root what needs the sandboxes' ids. Blocking.
class id_helper {
  public:
    id_helper(std::filesystem::path nest, id_range ids) : nest_(std::move(nest)), ids_(ids) {}
    [[nodiscard]] result<void> give(const std::filesystem::path& tree,
                                    const std::vector<std::filesystem::path>& students) const;
    [[nodiscard]] result<void> take(const std::filesystem::path& tree) const;
    [[nodiscard]] result<void> remove(const std::filesystem::path& tree) const;

  private:
    [[nodiscard]] result<void> run(std::vector<std::string> arguments) const;
    std::filesystem::path nest_;
    id_range ids_;
};

/// What can be told without making a namespace: kernel settings, newuidmap, id ranges.
[[nodiscard]] probe_report look_at_machine();

/// Makes a sandbox with nothing in it and lets it end; nullopt: that works, with `also` attached in it where given.
[[nodiscard]] std::optional<failure> try_sandbox(nest_client& nest, const std::optional<tree>& also);

/// See runtime::remove_leftovers. `cgroup_folders` are the folders "chalk" in which owners have theirs.
[[nodiscard]] result<std::vector<leftover>> remove_leftovers(const std::filesystem::path& state,
                                                             const std::vector<std::filesystem::path>& cgroup_folders,
                                                             bool dry_run);

} // namespace chalk::namespaces
