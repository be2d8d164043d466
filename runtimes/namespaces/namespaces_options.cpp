#include "runtimes/namespaces/namespaces_options.hpp"

#include "runtimes/namespaces/ids.hpp"
#include "runtimes/namespaces/machine.hpp"

#include <utility>

#include <unistd.h>

namespace chalk {

namespace fs = std::filesystem;

result<fs::path> nest_program_of(const namespaces_options& options) {
    return options.nest_program.empty() ? bundle::find_helper("chalk-nest") : result<fs::path>(options.nest_program);
}

image::cache make_node_cache(const namespaces_options& options) {
    fs::path folder = options.cache_folder.empty() ? image::cache::default_folder() : options.cache_folder;
    if (::geteuid() == 0) {
        return image::cache(std::move(folder));
    }
    return image::cache(std::move(folder), [options](const fs::path& doomed) -> result<void> {
        const auto program = nest_program_of(options);
        const auto ids = namespaces::choose_range();
        if (!program || !ids) {
            return program ? ids.error() : program.error();
        }
        return namespaces::id_helper(*program, *ids).remove(doomed);
    });
}

} // namespace chalk
