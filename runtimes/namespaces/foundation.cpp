#include "runtimes/namespaces/foundation.hpp"

#include "runtimes/image/skeleton.hpp"
#include "runtimes/namespaces/seccomp_program.hpp"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include <unistd.h>

namespace chalk::namespaces {

namespace fs = std::filesystem;

namespace {

result<std::unique_ptr<nest_client>> start_nest(const foundation_site& site, const id_range& ids, bool privileged) {
    auto program = nest_program_of(site.options);
    if (!program) {
        return program.error();
    }
    auto seccomp = make_seccomp_program();
    if (!seccomp) {
        return seccomp.error();
    }
    const fs::path folder = site.state / site.owner;
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) {
        return sandbox_failure(fmt::format("cannot make {}: {}", folder.string(), error.message()));
    }
    nest_orders orders;
    orders.privileged = privileged;
    orders.folder = folder.string();
    orders.first_id = ids.first;
    orders.id_count = ids.count;
    orders.init_program = program->string();
    orders.newuidmap = find_program("newuidmap").value_or("").string();
    orders.newgidmap = find_program("newgidmap").value_or("").string();
    orders.remove_at_end = site.groups.owner_folders();
    orders.remove_at_end.push_back(folder.string());
    const auto& copied = site.options.copied_program;
    return nest_client::start(copied.empty() ? *program : copied, orders, seccomp->get(), site.lease);
}

} // namespace

shared_entry share(image::cache_entry entry) {
    return std::make_shared<const image::cache_entry>(std::move(entry));
}

result<foundation> lay_foundation(const foundation_site& site) {
    foundation base;
    base.privileged = ::geteuid() == 0;
    auto ids = choose_range();
    if (!ids) {
        return ids.error();
    }
    base.ids = *ids;
    auto nest = start_nest(site, base.ids, base.privileged);
    if (!nest) {
        return nest.error();
    }
    base.nest = std::move(*nest);
    std::error_code error;
    fs::create_directories(site.cache.folder(), error);
    base.idmapped =
        base.privileged && !try_sandbox(*base.nest, tree{site.cache.folder().string(), tree::read_only | tree::idmap});
    base.owners.base = base.idmapped ? 0 : base.ids.first;
    if (!base.privileged) {
        auto program = nest_program_of(site.options);
        if (!program) {
            return program.error();
        }
        base.helper.emplace(*program, base.ids);
        base.owners.hand_over = [helper = *base.helper](const fs::path& tree, const std::vector<fs::path>& students) {
            return helper.give(tree, students);
        };
    }
    auto skeleton = image::get_skeleton(site.cache, base.owners);
    if (!skeleton) {
        return skeleton.error();
    }
    base.skeleton = share(std::move(*skeleton));
    auto parts = site.options.bundle_parts ? result<bundle::parts>(*site.options.bundle_parts) : bundle::find_parts();
    if (!parts) {
        return parts.error();
    }
    auto made = bundle::get_bundle(site.cache, *parts, base.owners);
    if (!made) {
        return made.error();
    }
    base.bundle = share(std::move(*made));
    return base;
}

std::optional<missing_piece> try_foundation(const foundation_site& site) {
    auto ids = choose_range();
    if (!ids) {
        return missing_piece{"user ids for sandboxes", ids.error().message};
    }
    auto nest = start_nest(site, *ids, ::geteuid() == 0);
    if (!nest) {
        return missing_piece{"namespaces", nest.error().message};
    }
    if (auto failed = try_sandbox(**nest, std::nullopt)) {
        return missing_piece{"namespaces", failed->message};
    }
    return std::nullopt;
}

out_folder::owner_change owner_change_of(const foundation& base) {
    if (!base.helper) {
        return {};
    }
    return [helper = *base.helper](const fs::path& folder, bool to_sandbox) {
        return to_sandbox ? helper.give(folder, {}) : helper.take(folder);
    };
}

} // namespace chalk::namespaces
