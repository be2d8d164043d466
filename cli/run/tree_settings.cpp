#include "cli/run/tree_settings.hpp"

#include "cli/run/limits.hpp"
#include "runtimes/bundle/bundle.hpp"

#include <utility>

namespace chalk::cli {

result<actors::tree_settings> make_tree_settings(const prepared_runs& prepared, const run_options& options,
                                                 std::shared_ptr<actors::watcher> watch) {
    actors::tree_settings settings;
    if (options.no_containerized) {
        auto parts = bundle::find_parts();
        if (!parts) {
            return parts.error();
        }
        settings.python = parts->python;
        settings.file_tool = parts->file_tool;
    }
    settings.capacity = prepared.limits.capacity;
    settings.max_runs = options.max_concurrent;
    settings.sandboxes = prepared.sandboxes;
    settings.watch = std::move(watch);
    return settings;
}

result<actors::tree_settings> make_tree_settings(const prepared_runs& prepared, const run_options& options,
                                                 const std::vector<config::run_config>& runs,
                                                 std::shared_ptr<actors::watcher> watch) {
    auto settings = make_tree_settings(prepared, options, std::move(watch));
    if (settings) {
        settings->plan = actors::one_cell(runs.size());
        // Of a run by itself nothing waits that could be held back.
        if (runs.size() > 1) {
            settings->disk = existing_part(runs.front().transcript_file.parent_path());
        }
        settings->make_order = [&](actors::run_key key, attempt_number attempt) -> actors::order_ptr {
            return make_order(prepared, options, runs.at(key.index), key, attempt);
        };
    }
    return settings;
}

} // namespace chalk::cli
