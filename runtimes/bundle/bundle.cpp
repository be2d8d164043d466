#include "runtimes/bundle/bundle.hpp"

#include "runtimes/bundle/layout.hpp"
#include "runtimes/bundle/libraries.hpp"
#include "runtimes/image/fingerprint.hpp"
#include "runtimes/image/tree_copy.hpp"

#include <fmt/format.h>

#include <system_error>

namespace chalk::bundle {

namespace fs = std::filesystem;
using image::ownership;

namespace {

result<fs::path> own_executable() {
    std::error_code error;
    const fs::path self = fs::read_symlink("/proc/self/exe", error);
    if (error) {
        return harness_failure(fmt::format("cannot find chalk's own executable: {}", error.message()));
    }
    return self;
}

result<void> make(const fs::path& folder, const parts& from, const needed_libraries& libraries, uid_t base) {
    const ownership root_alone{base, base, 0700, 0600, 0700};
    const ownership programs{base, base, 0700, 0700, 0700};
    for (const fs::path& one : {folder, folder / "bin", folder / bundle_layout::libraries}) {
        if (auto made = image::make_folder(one, root_alone); !made) {
            return made;
        }
    }
    // The student's processes run the file tool by descriptor: its folder is closed to them, the file itself is not.
    const ownership for_all{base, base, 0755, 0755, 0755};
    struct item {
        fs::path from;
        fs::path to;
        ownership owner;
    };
    std::vector<item> items = {{from.launcher, folder / bundle_layout::launcher, programs},
                               {from.program, folder / bundle_layout::program, programs},
                               {from.file_tool, folder / bundle_layout::file_tool, for_all},
                               {libraries.loader, folder / bundle_layout::loader, programs}};
    for (const fs::path& library : libraries.libraries) {
        items.push_back({library, folder / bundle_layout::libraries / library.filename(), programs});
    }
    for (const item& one : items) {
        if (auto copied = image::copy_file(one.from, one.to, one.owner); !copied) {
            return copied;
        }
    }
    image::copy_options sdk;
    sdk.owner = root_alone;
    // The compiled modules go along: the sandbox's copy is read-only, and each run would compile them anew.
    return image::copy_tree(from.python, folder / bundle_layout::python, sdk);
}

} // namespace

result<fs::path> find_helper(std::string_view name) {
    const auto self = own_executable();
    if (!self) {
        return self.error();
    }
    const fs::path beside = self->parent_path() / name;
    const fs::path installed = self->parent_path().parent_path() / "libexec/chalk" / name;
    std::error_code error;
    for (const fs::path& candidate : {beside, installed}) {
        if (fs::is_regular_file(candidate, error)) {
            return candidate;
        }
    }
    return harness_failure(fmt::format("{} is neither at {} nor at {}: build the target {} or install chalk anew", name,
                                       beside.string(), installed.string(), name));
}

result<parts> find_parts() {
    const auto self = own_executable();
    if (!self) {
        return self.error();
    }
    parts found;
    found.program = *self;
    for (const auto& [name, place] :
         {std::pair("chalk-launcher", &found.launcher), std::pair("chalk_file_tool", &found.file_tool)}) {
        auto helper = find_helper(name);
        if (!helper) {
            return helper.error();
        }
        *place = std::move(*helper);
    }
    const fs::path installed = self->parent_path().parent_path() / "share/chalk/python";
    std::error_code error;
    for (const fs::path& candidate : {installed, fs::path(CHALK_PYTHON_SOURCE)}) {
        if (fs::is_directory(candidate / "chalk", error)) {
            found.python = candidate;
            return found;
        }
    }
    return harness_failure(fmt::format("the Python SDK is neither at {} nor at {}: install chalk anew",
                                       installed.string(), CHALK_PYTHON_SOURCE));
}

result<image::cache_entry> get_bundle(const image::cache& where, const parts& from, const image::tree_owners& owners) {
    const auto libraries = find_libraries(from.program);
    if (!libraries) {
        return libraries.error();
    }
    image::fingerprint sources;
    sources.add("bundle 1");
    sources.add(std::to_string(owners.base));
    for (const fs::path& file : {from.program, from.launcher, from.file_tool, libraries->loader}) {
        sources.add_tree_root(file);
    }
    for (const fs::path& library : libraries->libraries) {
        std::error_code error;
        sources.add(library.filename().string());
        sources.add_tree_root(fs::canonical(library, error));
    }
    sources.add_tree(from.python);
    return where.get("bundle", sources.hex(), [&](const fs::path& folder) {
        auto made = make(folder / "tree", from, *libraries, owners.root());
        return made ? owners.finish(folder / "tree") : made;
    });
}

} // namespace chalk::bundle
