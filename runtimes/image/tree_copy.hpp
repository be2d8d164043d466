/// Copies a folder with the owners and modes that it shall have in a sandbox.
#pragma once

#include "protocol/core/result.hpp"

#include <filesystem>
#include <functional>

#include <sys/types.h>

namespace chalk::image {

/// What everything in a copied tree gets. An executable file keeps being one; nothing stays set-uid.
struct ownership {
    uid_t uid = 0;
    gid_t gid = 0;
    mode_t folder_mode = 0700;
    mode_t file_mode = 0600;
    mode_t program_mode = 0700;
};

struct copy_options {
    ownership owner;
    /// True for what is left out, with all below it. Paths are relative to the copied folder.
    std::function<bool(const std::filesystem::path&)> leave_out;
    /// Sockets, pipes, devices and files we may not read: an error that names the path, or left out.
    bool skip_what_cannot_be_copied = false;
};

/// `to` is made; it must not exist. Links are copied as links, wherever they point. Times are kept.
/// error_class::config.
[[nodiscard]] result<void> copy_tree(const std::filesystem::path& from, const std::filesystem::path& to,
                                     const copy_options& options);

/// One file, as above. `program` decides between the two file modes.
[[nodiscard]] result<void> copy_file(const std::filesystem::path& from, const std::filesystem::path& to,
                                     const ownership& owner);

[[nodiscard]] result<void> make_folder(const std::filesystem::path& path, const ownership& owner);
[[nodiscard]] result<void> write_file(const std::filesystem::path& path, std::string_view text, const ownership& owner);

} // namespace chalk::image
