#include "actors/cluster/link_library.hpp"

#include "protocol/core/shared_object.hpp"
#include "runtimes/bundle/bundle.hpp"

#include <fmt/format.h>

#include <dlfcn.h>

namespace chalk::actors {

namespace {

result<link_library> open_link_library() {
    const auto file = bundle::find_helper("libchalk_links.so");
    if (!file) {
        return file.error();
    }
    void* handle = ::dlopen(file->c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        return harness_failure(
            fmt::format("cannot load {} ({}): install the package libcaf-io0.17", file->string(), ::dlerror()));
    }
    link_library library;
    bool complete = true;
    find_function(handle, "chalk_links_module", library.make_module, complete);
    find_function(handle, "chalk_links_broker", library.find_broker, complete);
    if (!complete) {
        return harness_failure(fmt::format("{} is of another build of chalk", file->string()));
    }
    return library;
}

} // namespace

result<const link_library*> load_link_library() {
    static const result<link_library> loaded = open_link_library();
    if (!loaded) {
        return loaded.error();
    }
    return &*loaded;
}

} // namespace chalk::actors
