#include "runtimes/image/archive_library.hpp"

#include "protocol/core/shared_object.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace chalk::image {

namespace {

constexpr const char* library_name = "libarchive.so.13"; // its ABI since 2013

result<archive_library> load() {
    void* handle = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return failure{error_class::image,
                       fmt::format("cannot load {} ({}): install the package libarchive13", library_name, ::dlerror())};
    }
    archive_library lib;
    bool complete = true;
    find_function(handle, "archive_entry_filetype", lib.archive_entry_filetype, complete);
    find_function(handle, "archive_entry_free", lib.archive_entry_free, complete);
    find_function(handle, "archive_entry_gid", lib.archive_entry_gid, complete);
    find_function(handle, "archive_entry_hardlink", lib.archive_entry_hardlink, complete);
    find_function(handle, "archive_entry_new2", lib.archive_entry_new2, complete);
    find_function(handle, "archive_entry_pathname", lib.archive_entry_pathname, complete);
    find_function(handle, "archive_entry_set_gid", lib.archive_entry_set_gid, complete);
    find_function(handle, "archive_entry_set_hardlink", lib.archive_entry_set_hardlink, complete);
    find_function(handle, "archive_entry_set_pathname", lib.archive_entry_set_pathname, complete);
    find_function(handle, "archive_entry_set_uid", lib.archive_entry_set_uid, complete);
    find_function(handle, "archive_entry_uid", lib.archive_entry_uid, complete);
    find_function(handle, "archive_entry_unset_birthtime", lib.archive_entry_unset_birthtime, complete);
    find_function(handle, "archive_error_string", lib.archive_error_string, complete);
    find_function(handle, "archive_read_data_block", lib.archive_read_data_block, complete);
    find_function(handle, "archive_read_disk_descend", lib.archive_read_disk_descend, complete);
    find_function(handle, "archive_read_disk_new", lib.archive_read_disk_new, complete);
    find_function(handle, "archive_read_disk_open", lib.archive_read_disk_open, complete);
    find_function(handle, "archive_read_disk_set_behavior", lib.archive_read_disk_set_behavior, complete);
    find_function(handle, "archive_read_disk_set_symlink_physical", lib.archive_read_disk_set_symlink_physical,
                  complete);
    find_function(handle, "archive_read_free", lib.archive_read_free, complete);
    find_function(handle, "archive_read_new", lib.archive_read_new, complete);
    find_function(handle, "archive_read_next_header2", lib.archive_read_next_header2, complete);
    find_function(handle, "archive_read_open_filename", lib.archive_read_open_filename, complete);
    find_function(handle, "archive_read_support_filter_all", lib.archive_read_support_filter_all, complete);
    find_function(handle, "archive_read_support_format_tar", lib.archive_read_support_format_tar, complete);
    find_function(handle, "archive_write_close", lib.archive_write_close, complete);
    find_function(handle, "archive_write_data_block", lib.archive_write_data_block, complete);
    find_function(handle, "archive_write_disk_new", lib.archive_write_disk_new, complete);
    find_function(handle, "archive_write_disk_set_options", lib.archive_write_disk_set_options, complete);
    find_function(handle, "archive_write_finish_entry", lib.archive_write_finish_entry, complete);
    find_function(handle, "archive_write_free", lib.archive_write_free, complete);
    find_function(handle, "archive_write_header", lib.archive_write_header, complete);
    if (!complete) {
        return failure{error_class::image, fmt::format("{} lacks a function that chalk needs", library_name)};
    }
    return lib;
}

} // namespace

result<const archive_library*> load_archive_library() {
    static const result<archive_library> loaded = load();
    if (!loaded) {
        return loaded.error();
    }
    return &*loaded;
}

} // namespace chalk::image
