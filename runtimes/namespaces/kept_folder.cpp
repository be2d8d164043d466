#include "runtimes/namespaces/kept_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <system_error>

#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

result<fs::path> make_kept_folder(const image::cache& cache, const run_id& id, const std::string& owner,
                                  const image::tree_owners& owners) {
    const fs::path folder = cache.folder() / "kept" / fmt::format("{}-{}", id.str(), owner);
    const uid_t root = owners.root();
    for (const fs::path& one : {folder / "root", folder / "student"}) {
        std::error_code error;
        fs::create_directories(one, error);
        if (error || ::chown(one.c_str(), root, root) != 0) {
            return sandbox_failure(fmt::format("cannot make {}: {}", one.string(), std::strerror(errno)));
        }
        if (auto given = owners.finish(one); !given) {
            return given.error();
        }
    }
    return folder;
}

} // namespace chalk::namespaces
