#include "runtimes/image/archive_library.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace chalk::image {

namespace {

constexpr const char* library_name = "libarchive.so.13"; // its ABI since 2013

template<class Function>
void find(void* handle, const char* name, Function& where, bool& complete) {
    where = reinterpret_cast<Function>(::dlsym(handle, name));
    complete = complete && where != nullptr;
}

result<archive_library> load() {
    void* handle = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return failure{error_class::image,
                       fmt::format("cannot load {} ({}): install the package libarchive13", library_name, ::dlerror())};
    }
    archive_library lib;
    bool complete = true;
    find(handle, "archive_entry_filetype", lib.archive_entry_filetype, complete);
    find(handle, "archive_entry_free", lib.archive_entry_free, complete);
    find(handle, "archive_entry_gid", lib.archive_entry_gid, complete);
    find(handle, "archive_entry_hardlink", lib.archive_entry_hardlink, complete);
    find(handle, "archive_entry_new2", lib.archive_entry_new2, complete);
    find(handle, "archive_entry_pathname", lib.archive_entry_pathname, complete);
    find(handle, "archive_entry_set_gid", lib.archive_entry_set_gid, complete);
    find(handle, "archive_entry_set_hardlink", lib.archive_entry_set_hardlink, complete);
    find(handle, "archive_entry_set_pathname", lib.archive_entry_set_pathname, complete);
    find(handle, "archive_entry_set_uid", lib.archive_entry_set_uid, complete);
    find(handle, "archive_entry_uid", lib.archive_entry_uid, complete);
    find(handle, "archive_entry_unset_birthtime", lib.archive_entry_unset_birthtime, complete);
    find(handle, "archive_error_string", lib.archive_error_string, complete);
    find(handle, "archive_read_data_block", lib.archive_read_data_block, complete);
    find(handle, "archive_read_disk_descend", lib.archive_read_disk_descend, complete);
    find(handle, "archive_read_disk_new", lib.archive_read_disk_new, complete);
    find(handle, "archive_read_disk_open", lib.archive_read_disk_open, complete);
    find(handle, "archive_read_disk_set_behavior", lib.archive_read_disk_set_behavior, complete);
    find(handle, "archive_read_disk_set_symlink_physical", lib.archive_read_disk_set_symlink_physical, complete);
    find(handle, "archive_read_free", lib.archive_read_free, complete);
    find(handle, "archive_read_new", lib.archive_read_new, complete);
    find(handle, "archive_read_next_header2", lib.archive_read_next_header2, complete);
    find(handle, "archive_read_open_filename", lib.archive_read_open_filename, complete);
    find(handle, "archive_read_support_filter_all", lib.archive_read_support_filter_all, complete);
    find(handle, "archive_read_support_format_tar", lib.archive_read_support_format_tar, complete);
    find(handle, "archive_write_close", lib.archive_write_close, complete);
    find(handle, "archive_write_data_block", lib.archive_write_data_block, complete);
    find(handle, "archive_write_disk_new", lib.archive_write_disk_new, complete);
    find(handle, "archive_write_disk_set_options", lib.archive_write_disk_set_options, complete);
    find(handle, "archive_write_finish_entry", lib.archive_write_finish_entry, complete);
    find(handle, "archive_write_free", lib.archive_write_free, complete);
    find(handle, "archive_write_header", lib.archive_write_header, complete);
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
