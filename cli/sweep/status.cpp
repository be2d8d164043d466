#include "cli/refused.hpp"
#include "cli/sweep/results.hpp"
#include "cli/sweep/status_page.hpp"
#include "cli/sweep/text_output.hpp"
#include "protocol/journal/folder_lock.hpp"

#include <fmt/format.h>

namespace chalk::cli {

namespace {

/// Cells as they are read, so that a sweep of millions of them takes no memory.
result<void> write_json(const journal::journal_reader& journal, const sweep_state& state, text_output& out) {
    out.write("{\"sweep\":" + dump_json(cli::to_json(state)) + ",\n\"cells\":[");
    bool first = true;
    const auto figures = statistics::figure_out(journal, [&](const statistics::cell_figures& cell) {
        out.write((first ? "\n" : ",\n") + dump_json(cli::to_json(cell)));
        first = false;
    });
    if (!figures) {
        return figures.error();
    }
    out.write("],\n\"figures\":" + dump_json(statistics::to_json(*figures)) + "}\n");
    return {};
}

result<void> write_page(const journal::journal_reader& journal, const sweep_state& state, text_output& out) {
    const auto style = style_of_stdout();
    cell_table table(style);
    const auto figures =
        statistics::figure_out(journal, [&](const statistics::cell_figures& cell) { table.add(cell); });
    if (!figures) {
        return figures.error();
    }
    out.write(state_lines(state, style) + figure_lines(*figures, style) + table.text());
    return {};
}

} // namespace

exit_code show_status(const std::filesystem::path& folder, bool as_json) {
    // Before the journal: a sweep that ends meanwhile is then shown as one that runs, and not as one that was killed.
    auto runner = journal::folder_lock::holder(folder);
    const auto journal = journal::journal_reader::open(folder);
    if (!journal) {
        return refuse("chalk sweep status", journal.error(), exit_code::run_error);
    }
    auto sweep = journal->sweep();
    if (!sweep) {
        return refuse("chalk sweep status", sweep.error(), exit_code::run_error);
    }
    auto out = text_output::open({});
    if (!out) {
        return refuse("chalk sweep status", out.error(), exit_code::run_error);
    }
    const sweep_state state{folder, std::move(*sweep), std::move(runner)};
    const auto read = as_json ? write_json(*journal, state, *out) : write_page(*journal, state, *out);
    const auto written = out->finish();
    if (!read) {
        return refuse("chalk sweep status", read.error(), exit_code::run_error);
    }
    return written ? exit_code::fine : refuse("chalk sweep status", written.error(), exit_code::run_error);
}

} // namespace chalk::cli
