#include "actors/harness/left_places.hpp"
#include "cli/commands.hpp"
#include "protocol/event/event.hpp"
#include "runtimes/image/cache.hpp"
#include "runtimes/namespaces/namespaces_runtime.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace chalk::cli {

namespace {

struct gc_options {
    bool dry_run = false;
    bool as_json = false;
    unsigned days = 14;
};

json to_json(const std::vector<leftover>& leftovers, const std::vector<image::cache_use>& entries, bool dry_run) {
    json report = {{"dry_run", dry_run}, {"leftovers", json::array()}, {"cache", json::array()}};
    for (const leftover& one : leftovers) {
        report["leftovers"].push_back({{"kind", one.kind}, {"name", one.name}, {"owner", one.owner}});
    }
    for (const image::cache_use& one : entries) {
        report["cache"].push_back({{"kind", one.kind},
                                   {"key", one.key},
                                   {"bytes", one.bytes_used},
                                   {"last_used", fmt::format("{:%FT%TZ}", fmt::gmtime(one.last_used))}});
    }
    return report;
}

void print(const std::vector<leftover>& leftovers, const std::vector<image::cache_use>& entries, bool dry_run) {
    const char* verb = dry_run ? "would remove" : "removed";
    std::uint64_t freed = 0;
    for (const leftover& one : leftovers) {
        fmt::print("{} {} {} of a chalk that is gone ({})\n", verb, one.kind, one.name, one.owner);
    }
    for (const image::cache_use& one : entries) {
        fmt::print("{} {} {}, last used {:%F}, {} KiB\n", verb, one.kind, one.key, fmt::gmtime(one.last_used),
                   one.bytes_used / 1024);
        freed += one.bytes_used;
    }
    fmt::print("{} {} leftovers and {} cache entries ({} MiB)\n", verb, leftovers.size(), entries.size(), freed >> 20U);
}

exit_code collect(const gc_options& options) {
    boost::asio::io_context io;
    const auto sandboxes = make_namespaces_runtime(io, {});
    auto leftovers = sandboxes->remove_leftovers(options.dry_run);
    if (!leftovers) {
        fmt::print(stderr, "chalk gc: {}\n", leftovers.error().message);
        return exit_code::run_error;
    }
    const auto places = actors::remove_left_places(options.dry_run);
    if (!places) {
        fmt::print(stderr, "chalk gc: {}\n", places.error().message);
        return exit_code::run_error;
    }
    for (const auto& one : *places) {
        leftovers->push_back({.kind = "folder", .name = one.folder.string(), .owner = one.owner});
    }
    const image::cache cache = make_node_cache({});
    const auto entries = cache.collect(std::chrono::hours(24) * options.days, options.dry_run);
    if (!entries) {
        fmt::print(stderr, "chalk gc: {}\n", entries.error().message);
        return exit_code::run_error;
    }
    if (options.as_json) {
        fmt::print("{}\n", to_json(*leftovers, *entries, options.dry_run).dump());
    } else {
        print(*leftovers, *entries, options.dry_run);
    }
    return exit_code::fine;
}

} // namespace

void add_gc_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("gc", "Remove what killed chalks left behind, and cached data that nobody uses");
    const auto options = std::make_shared<gc_options>();
    command->add_flag("--dry-run", options->dry_run, "Say what would be removed, and remove nothing");
    command->add_flag("--json", options->as_json, "Print one JSON object");
    command->add_option("--days", options->days, "Cache entries go when unused for this many days")
        ->capture_default_str();
    command->callback([options, &code] { code = collect(*options); });
}

} // namespace chalk::cli
