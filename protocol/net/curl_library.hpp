/// libcurl, loaded with the first request to a provider and not before: it and the thirty libraries behind it would add
/// several milliseconds to the start of every chalk and every harness, most of which never make one.
#pragma once

#include "protocol/core/result.hpp"

#include <curl/curl.h>

namespace chalk::curl {

// curl.h wraps the variadic ones into type checks for C++; here they are called through pointers.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

/// Its functions, under their own names.
struct curl_library {
    // clang-format off
    decltype(&::curl_easy_cleanup) curl_easy_cleanup = nullptr;
    decltype(&::curl_easy_getinfo) curl_easy_getinfo = nullptr;
    decltype(&::curl_easy_init) curl_easy_init = nullptr;
    decltype(&::curl_easy_pause) curl_easy_pause = nullptr;
    decltype(&::curl_easy_setopt) curl_easy_setopt = nullptr;
    decltype(&::curl_easy_strerror) curl_easy_strerror = nullptr;
    decltype(&::curl_global_init) curl_global_init = nullptr;
    decltype(&::curl_multi_add_handle) curl_multi_add_handle = nullptr;
    decltype(&::curl_multi_assign) curl_multi_assign = nullptr;
    decltype(&::curl_multi_cleanup) curl_multi_cleanup = nullptr;
    decltype(&::curl_multi_info_read) curl_multi_info_read = nullptr;
    decltype(&::curl_multi_init) curl_multi_init = nullptr;
    decltype(&::curl_multi_remove_handle) curl_multi_remove_handle = nullptr;
    decltype(&::curl_multi_setopt) curl_multi_setopt = nullptr;
    decltype(&::curl_multi_socket_action) curl_multi_socket_action = nullptr;
    decltype(&::curl_slist_append) curl_slist_append = nullptr;
    decltype(&::curl_slist_free_all) curl_slist_free_all = nullptr;
    // clang-format on
};

/// Any thread; blocks for the time that loading takes (10 ms). Stays loaded to the end of the process.
/// error_class::model with the package to install.
[[nodiscard]] result<const curl_library*> load_curl_library();

} // namespace chalk::curl
