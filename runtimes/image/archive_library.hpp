/// libarchive, loaded when the first root file system is unpacked and not before: it and the twelve libraries behind it
/// would add 2 ms to the start of every harness, which never unpacks one.
#pragma once

#include "protocol/core/result.hpp"

#include <archive.h>
#include <archive_entry.h>

namespace chalk::image {

/// Its functions, under their own names.
struct archive_library {
    // clang-format off
    decltype(&::archive_entry_filetype) archive_entry_filetype = nullptr;
    decltype(&::archive_entry_free) archive_entry_free = nullptr;
    decltype(&::archive_entry_gid) archive_entry_gid = nullptr;
    decltype(&::archive_entry_hardlink) archive_entry_hardlink = nullptr;
    decltype(&::archive_entry_new2) archive_entry_new2 = nullptr;
    decltype(&::archive_entry_pathname) archive_entry_pathname = nullptr;
    decltype(&::archive_entry_set_gid) archive_entry_set_gid = nullptr;
    decltype(&::archive_entry_set_hardlink) archive_entry_set_hardlink = nullptr;
    decltype(&::archive_entry_set_pathname) archive_entry_set_pathname = nullptr;
    decltype(&::archive_entry_set_uid) archive_entry_set_uid = nullptr;
    decltype(&::archive_entry_uid) archive_entry_uid = nullptr;
    decltype(&::archive_entry_unset_birthtime) archive_entry_unset_birthtime = nullptr;
    decltype(&::archive_error_string) archive_error_string = nullptr;
    decltype(&::archive_read_data_block) archive_read_data_block = nullptr;
    decltype(&::archive_read_disk_descend) archive_read_disk_descend = nullptr;
    decltype(&::archive_read_disk_new) archive_read_disk_new = nullptr;
    decltype(&::archive_read_disk_open) archive_read_disk_open = nullptr;
    decltype(&::archive_read_disk_set_behavior) archive_read_disk_set_behavior = nullptr;
    decltype(&::archive_read_disk_set_symlink_physical) archive_read_disk_set_symlink_physical = nullptr;
    decltype(&::archive_read_free) archive_read_free = nullptr;
    decltype(&::archive_read_new) archive_read_new = nullptr;
    decltype(&::archive_read_next_header2) archive_read_next_header2 = nullptr;
    decltype(&::archive_read_open_filename) archive_read_open_filename = nullptr;
    decltype(&::archive_read_support_filter_all) archive_read_support_filter_all = nullptr;
    decltype(&::archive_read_support_format_tar) archive_read_support_format_tar = nullptr;
    decltype(&::archive_write_close) archive_write_close = nullptr;
    decltype(&::archive_write_data_block) archive_write_data_block = nullptr;
    decltype(&::archive_write_disk_new) archive_write_disk_new = nullptr;
    decltype(&::archive_write_disk_set_options) archive_write_disk_set_options = nullptr;
    decltype(&::archive_write_finish_entry) archive_write_finish_entry = nullptr;
    decltype(&::archive_write_free) archive_write_free = nullptr;
    decltype(&::archive_write_header) archive_write_header = nullptr;
    // clang-format on
};

/// Any thread. Stays loaded to the end of the process. error_class::image with the package to install.
[[nodiscard]] result<const archive_library*> load_archive_library();

} // namespace chalk::image
