#include "cli/cluster/run_sheet.hpp"

#include "protocol/core/strict_object.hpp"

#include <fmt/format.h>

#include <limits>
#include <utility>

namespace chalk::cli {

namespace {

constexpr std::uint64_t run_sheet_version = 1;
constexpr std::uint64_t largest_run_number = std::numeric_limits<std::int64_t>::max();
/// The config's own depth is bounded when it is loaded; here it is one level further down.
constexpr std::size_t run_sheet_depth = max_json_depth + 2;

} // namespace

result<std::string> run_sheet_text(const actors::run_order& order) {
    if (order.refused) {
        return *order.refused;
    }
    // The config of the header is the run's as it was made; the order's own may have ports for this machine's sandbox.
    auto config = config::without_defaults(order.header.config);
    config.erase("transcript_file");
    auto text = dump_json({{"sheet", run_sheet_version},
                           {"cell", order.key.cell},
                           {"index", order.key.index},
                           {"attempt", static_cast<std::uint32_t>(order.attempt)},
                           {"label", order.cell_label},
                           {"task", order.header.task},
                           {"config", std::move(config)}});
    if (text.size() > largest_run_sheet.count) {
        return config_failure(fmt::format("run {}: its config is too large for a cluster: {} bytes, {} at most",
                                          order.config.id.str(), text.size(), largest_run_sheet.count));
    }
    return text;
}

result<run_sheet> read_run_sheet(std::string_view text) {
    run_sheet sheet;
    std::uint32_t attempt = 1;
    const auto read_all = [&](strict_object& top) {
        auto version = run_sheet_version;
        top.read("sheet", version, run_sheet_version, run_sheet_version);
        top.read("cell", sheet.key.cell, 0, largest_run_number);
        top.read("index", sheet.key.index, 0, largest_run_number);
        top.read("attempt", attempt, 1);
        top.read("label", sheet.cell_label, largest_run_sheet.count);
        top.read("task", sheet.task, largest_run_sheet.count);
        if (const auto* value = top.find("config")) {
            if (value->is_object() && value->contains("transcript_file")) {
                return top.refuse("config.transcript_file", "is the node's own");
            }
            auto config = config::parse_resolved_config(*value);
            if (!config) {
                return top.refuse({}, config.error().message); // which begins with "run config"
            }
            if (config->id.empty()) {
                return top.refuse("config.run_id", "is missing");
            }
            sheet.config = std::move(*config);
        }
    };
    if (auto read = read_strictly(text, largest_run_sheet, "the sheet of a run", read_all, run_sheet_depth); !read) {
        return read.error();
    }
    sheet.attempt = attempt_number{attempt};
    return sheet;
}

} // namespace chalk::cli
