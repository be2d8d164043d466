#include "cli/cluster/environment_store.hpp"

#include <fmt/format.h>

#include <system_error>

namespace chalk::cli {

namespace fs = std::filesystem;

result<std::shared_ptr<environment_store>> environment_store::open(fs::path folder, fetcher fetch, executor pool) {
    std::error_code ec;
    fs::remove_all(folder, ec);
    if (!ec) {
        fs::create_directories(folder, ec);
    }
    if (ec) {
        return harness_failure(fmt::format("{}: {}", folder.string(), ec.message()));
    }
    return std::shared_ptr<environment_store>(
        new environment_store(std::move(folder), std::move(fetch), std::move(pool)));
}

void environment_store::prepare(const std::shared_ptr<node_site>& site, const std::string& name,
                                std::function<void(result<void>)> done) {
    if (site->holds(name)) {
        done({});
        return;
    }
    const auto* environment = site->sheet().find(name);
    if (environment == nullptr) {
        done(harness_failure(fmt::format("the sweep has no environment {}", name)));
        return;
    }
    if (!environment->tree) { // builtin:noop
        read(site, name, {}, std::move(done));
        return;
    }
    const auto tree = *environment->tree;
    fs::path there;
    bool first = false;
    {
        const std::scoped_lock held(mutex_);
        if (const auto found = here_.find(tree.hex()); found != here_.end()) {
            there = found->second;
        } else {
            auto& line = coming_[tree.hex()];
            first = line.empty();
            line.push_back({site, name, std::move(done)});
        }
    }
    if (!there.empty()) {
        read(site, name, there, std::move(done));
    } else if (first) {
        fetch_(tree, folder_ / tree.hex(), [weak = weak_from_this(), tree](const result<void>& how) {
            if (const auto self = weak.lock()) {
                self->fetched(tree, how);
            }
        });
    }
}

void environment_store::fetched(const store::tree_digest& tree, const result<void>& how) {
    std::vector<waiting> line;
    const auto folder = folder_ / tree.hex();
    {
        const std::scoped_lock held(mutex_);
        if (how) {
            here_.emplace(tree.hex(), folder);
        }
        if (auto found = coming_.extract(tree.hex())) {
            line = std::move(found.mapped());
        }
    }
    for (auto& one : line) {
        if (how) {
            read(one.site, one.name, folder, std::move(one.done));
        } else {
            one.done(failure{error_class::sandbox, "the environment could not be fetched: " + how.error().message});
        }
    }
}

void environment_store::read(const std::shared_ptr<node_site>& site, const std::string& name, const fs::path& folder,
                             std::function<void(result<void>)> done) {
    pool_([site, name, folder, done = std::move(done)] { done(site->prepare(name, folder)); });
}

std::set<std::string, std::less<>> environment_store::held() const {
    std::set<std::string, std::less<>> all;
    const std::scoped_lock held(mutex_);
    for (const auto& [tree, folder] : here_) {
        all.insert(tree);
    }
    return all;
}

} // namespace chalk::cli
