#include "protocol/net/curl_library.hpp"

#include "protocol/core/shared_object.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace chalk::curl {

namespace {

constexpr const char* library_name = "libcurl.so.4"; // its ABI since 2006

result<curl_library> load() {
    void* handle = ::dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return model_failure(
            fmt::format("cannot load {} ({}): install the package libcurl4", library_name, ::dlerror()));
    }
    curl_library lib;
    bool complete = true;
    find_function(handle, "curl_easy_cleanup", lib.curl_easy_cleanup, complete);
    find_function(handle, "curl_easy_getinfo", lib.curl_easy_getinfo, complete);
    find_function(handle, "curl_easy_init", lib.curl_easy_init, complete);
    find_function(handle, "curl_easy_pause", lib.curl_easy_pause, complete);
    find_function(handle, "curl_easy_setopt", lib.curl_easy_setopt, complete);
    find_function(handle, "curl_easy_strerror", lib.curl_easy_strerror, complete);
    find_function(handle, "curl_global_init", lib.curl_global_init, complete);
    find_function(handle, "curl_multi_add_handle", lib.curl_multi_add_handle, complete);
    find_function(handle, "curl_multi_assign", lib.curl_multi_assign, complete);
    find_function(handle, "curl_multi_cleanup", lib.curl_multi_cleanup, complete);
    find_function(handle, "curl_multi_info_read", lib.curl_multi_info_read, complete);
    find_function(handle, "curl_multi_init", lib.curl_multi_init, complete);
    find_function(handle, "curl_multi_remove_handle", lib.curl_multi_remove_handle, complete);
    find_function(handle, "curl_multi_setopt", lib.curl_multi_setopt, complete);
    find_function(handle, "curl_multi_socket_action", lib.curl_multi_socket_action, complete);
    find_function(handle, "curl_slist_append", lib.curl_slist_append, complete);
    find_function(handle, "curl_slist_free_all", lib.curl_slist_free_all, complete);
    if (!complete) {
        return model_failure(fmt::format("{} lacks a function that chalk needs", library_name));
    }
    if (lib.curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        return model_failure(fmt::format("{} cannot be initialised", library_name));
    }
    return lib;
}

} // namespace

result<const curl_library*> load_curl_library() {
    static const result<curl_library> loaded = load();
    if (!loaded) {
        return loaded.error();
    }
    return &*loaded;
}

} // namespace chalk::curl
