#include "actors/harness/local_places.hpp"

#include "actors/harness/left_places.hpp"
#include "actors/harness/noop_environment.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <sys/stat.h>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

/// Copies a data folder, if the environment has it; the folder itself is there in any case.
result<void> provide(const fs::path& from, const fs::path& to, mode_t mode) {
    std::error_code ec;
    fs::create_directories(to, ec);
    if (!ec && fs::is_directory(from)) {
        fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, ec);
    }
    if (ec) {
        return harness_failure(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), ec.message()));
    }
    if (::chmod(to.c_str(), mode) != 0) {
        return harness_failure(fmt::format("{}: {}", to.string(), std::generic_category().message(errno)));
    }
    return {};
}

} // namespace

result<std::unique_ptr<local_places>> local_places::make(const config::run_config& config, fs::path out,
                                                         fs::path python, fs::path file_tool) {
    std::unique_ptr<local_places> made(new local_places());
    made->file_tool_ = std::move(file_tool);
    made->places_.environment = config.environment;
    made->places_.python = std::move(python);
    made->places_.out = std::move(out);
    if (config.environment == noop_environment_name) {
        return made;
    }
    auto name = local_folder_template();
    if (::mkdtemp(name.data()) == nullptr) {
        return harness_failure(fmt::format("cannot make {}: {}", name, std::generic_category().message(errno)));
    }
    made->folder_ = name;
    auto& places = made->places_;
    places.workdir = made->folder_ / "workdir";
    places.root_data = made->folder_ / "root_data";
    places.intermediate_data = made->folder_ / "intermediate_data";
    // The environment may run student code as another user: the folder can be passed through, but not listed.
    if (::chmod(name.c_str(), 0711) != 0) {
        return harness_failure(fmt::format("{}: {}", name, std::generic_category().message(errno)));
    }
    const std::tuple<const char*, fs::path, mode_t> folders[] = {
        {"", places.workdir, 01777},
        {"student_data", places.workdir / "data", 0755},
        {"shared_data", places.workdir / "shared", 0755},
        {"root_data", places.root_data, 0700},
        {"intermediate_data", places.intermediate_data, 0700},
    };
    for (const auto& [from, to, mode] : folders) {
        const auto source = *from == '\0' ? fs::path() : config.environment / from;
        if (auto provided = provide(source, to, mode); !provided) {
            return provided.error();
        }
    }
    return made;
}

local_places::~local_places() {
    // Nobody is left to tell; whoever wants to know calls remove() first.
    (void)remove();
}

harness_options local_places::options(config::run_config config, bool prepare_only) const {
    harness_options options;
    options.config = std::move(config);
    options.places = places_;
    options.student.home = places_.workdir.string();
    options.student.working_directory = places_.workdir.string();
    options.student.environment = {"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                                   "HOME=" + places_.workdir.string(), "LANG=C.UTF-8"};
    options.student.file_tool = file_tool_.string();
    options.prepare_only = prepare_only;
    options.confinement_note = "none: the student's tools run on this machine as the user who started chalk "
                               "(--no-containerized)";
    return options;
}

fs::path local_places::keep() noexcept {
    return std::exchange(folder_, {});
}

result<void> local_places::remove() {
    if (folder_.empty()) {
        return {};
    }
    std::error_code ec;
    fs::remove_all(folder_, ec);
    if (ec) {
        return harness_failure(fmt::format("cannot remove {}: {}", folder_.string(), ec.message()));
    }
    folder_.clear();
    return {};
}

} // namespace chalk::actors
