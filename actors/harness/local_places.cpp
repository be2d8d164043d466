#include "actors/harness/local_places.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

namespace chalk::actors {

namespace fs = std::filesystem;

namespace {

/// Copies a data folder, if the environment has it.
result<void> provide(const fs::path& from, const fs::path& to) {
    std::error_code ec;
    if (fs::is_directory(from)) {
        fs::copy(from, to, fs::copy_options::recursive | fs::copy_options::copy_symlinks, ec);
    }
    if (ec) {
        return harness_failure(fmt::format("cannot copy {} to {}: {}", from.string(), to.string(), ec.message()));
    }
    return {};
}

} // namespace

result<std::unique_ptr<local_places>> local_places::make(std::shared_ptr<place_pool> pool,
                                                         const config::run_config& config, fs::path artifacts,
                                                         fs::path python, fs::path file_tool) {
    std::unique_ptr<local_places> made(new local_places());
    made->file_tool_ = std::move(file_tool);
    made->places_.environment = config.environment;
    made->places_.python = std::move(python);
    made->artifacts_ = std::move(artifacts);
    if (config.environment == config::noop_environment) {
        return made;
    }
    auto folder = pool->take();
    if (!folder) {
        return folder.error();
    }
    made->pool_ = std::move(pool);
    made->folder_ = std::move(*folder);
    auto& places = made->places_;
    places.workdir = made->folder_ / "workdir";
    places.root_data = made->folder_ / "root_data";
    places.intermediate_data = made->folder_ / "intermediate_data";
    places.out = made->folder_ / "out";
    const std::pair<const char*, fs::path> data[] = {
        {"student_data", places.workdir / "data"},
        {"shared_data", places.workdir / "shared"},
        {"root_data", places.root_data},
        {"intermediate_data", places.intermediate_data},
    };
    for (const auto& [from, to] : data) {
        if (auto provided = provide(config.environment / from, to); !provided) {
            return provided.error();
        }
    }
    return made;
}

local_places::~local_places() {
    // Nobody is left to tell; whoever wants to know calls hand_over() and remove() first.
    if (hand_over()) {
        (void)remove(false);
    }
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

result<void> local_places::hand_over() {
    const auto not_saved = [this](const std::error_code& why) {
        return harness_failure(fmt::format("cannot save the artifacts in {}: {}; they are in {}", artifacts_.string(),
                                           why.message(), places_.out.string()));
    };
    if (folder_.empty() || artifacts_.empty()) {
        return {};
    }
    std::error_code ec;
    const bool nothing = fs::is_empty(places_.out, ec);
    if (ec == std::errc::no_such_file_or_directory || (!ec && nothing)) {
        return {}; // the run may have removed it
    }
    if (!ec) {
        fs::create_directories(artifacts_, ec);
    }
    if (ec) {
        return not_saved(ec);
    }
    std::vector<fs::path> saved; // what is moved while a folder is read may be read twice, or not
    for (fs::directory_iterator entry(places_.out, ec), end; !ec && entry != end; entry.increment(ec)) {
        saved.push_back(entry->path());
    }
    for (auto one = saved.begin(); !ec && one != saved.end(); ++one) {
        const auto to = artifacts_ / one->filename();
        std::error_code not_renamed; // to another disk, or over a folder of an earlier run
        fs::rename(*one, to, not_renamed);
        if (not_renamed) {
            fs::copy(*one, to,
                     fs::copy_options::recursive | fs::copy_options::copy_symlinks |
                         fs::copy_options::overwrite_existing,
                     ec);
        }
    }
    return ec ? not_saved(ec) : result<void>{};
}

fs::path local_places::keep() noexcept {
    return std::exchange(folder_, {});
}

result<void> local_places::remove(bool ended_in_order) {
    if (folder_.empty()) {
        return {};
    }
    auto how = ended_in_order ? pool_->give_back(folder_) : place_pool::remove(folder_);
    if (how) {
        folder_.clear();
    }
    return how;
}

} // namespace chalk::actors
