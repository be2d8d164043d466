/// What a control group is made and set with: folders and files that are written as a whole.
#pragma once

#include "protocol/core/result.hpp"
#include "runtimes/namespaces/cgroup_hierarchies.hpp"

#include <filesystem>
#include <string_view>

namespace chalk::namespaces {

/// 0 or an error number.
[[nodiscard]] int write_group_file(const std::filesystem::path& file, std::string_view value);
/// True when one of the words of `text` is `word`.
[[nodiscard]] bool has_word(std::string_view text, std::string_view word);

/// One that is there already is no error. error_class::sandbox.
[[nodiscard]] result<void> make_group(const std::filesystem::path& group);
/// Version 2: what is made in `group` gets the controllers of `which`. error_class::sandbox.
[[nodiscard]] result<void> enable_controllers(const std::filesystem::path& group, const cgroup_hierarchy& which);

} // namespace chalk::namespaces
