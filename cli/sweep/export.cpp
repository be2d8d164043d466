#include "cli/refused.hpp"
#include "cli/sweep/export_row.hpp"
#include "cli/sweep/results.hpp"
#include "cli/sweep/text_output.hpp"
#include "protocol/journal/journal_reader.hpp"
#include "protocol/journal/trouble.hpp"

#include <fmt/format.h>

#include <optional>

namespace chalk::cli {

namespace {

/// Writes a journal's rows, cell after cell.
class exporter {
  public:
    exporter(const journal::journal_reader& from, const journal::sweep_row& sweep, export_format format,
             bool all_attempts, text_output& out)
        : journal_(from), sweep_(sweep), format_(format), all_attempts_(all_attempts), out_(out) {}

    result<void> run() {
        if (format_ == export_format::csv) {
            out_.write(csv_header());
        }
        const auto read = journal_.for_each_run([this](const journal::run_row& run) { return add(run); });
        return read ? cells_ : read;
    }
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }

  private:
    bool add(const journal::run_row& run) {
        const auto number = static_cast<std::uint64_t>(run.run) / sweep_.opened.repeats;
        if (!cell_ || static_cast<std::uint64_t>(cell_->number) != number) {
            auto described = journal_.cell(journal::cell_number{number});
            if (!described) {
                cells_ = described.error();
                return false;
            }
            cell_ = described->value_or(journal::cell_described{});
            cell_->number = journal::cell_number{number};
        }
        if (!all_attempts_ || run.attempts.empty()) {
            write(run, run.counted());
            return true;
        }
        for (const auto& attempt : run.attempts) {
            write(run, &attempt);
        }
        return true;
    }

    void write(const journal::run_row& run, const journal::attempt_row* attempt) {
        const auto row = export_row(sweep_, *cell_, run, attempt);
        out_.write(format_ == export_format::csv ? csv_line(row) : jsonl_line(row));
        ++rows_;
    }

    const journal::journal_reader& journal_;
    const journal::sweep_row& sweep_;
    export_format format_;
    bool all_attempts_;
    text_output& out_;
    std::optional<journal::cell_described> cell_;
    std::uint64_t rows_ = 0;
    result<void> cells_;
};

/// Of a damaged journal: how far it got and where the rest is, in the place of a remedy that names this very command.
exit_code refuse_rest(const std::filesystem::path& folder, const failure& why, std::uint64_t rows) {
    std::string cause = why.message;
    const auto remedy = journal::damage_remedy((folder / journal::journal_name).parent_path());
    if (!cause.ends_with(remedy)) {
        return refuse("chalk sweep export", {exit_code::run_error, std::move(cause)});
    }
    cause.resize(cause.size() - remedy.size());
    fmt::print(stderr,
               "chalk sweep export: {}. {}; each attempt's outcome is in its transcript, "
               "{}/<run_id>/attempt-<k>/transcript.json\n",
               cause,
               rows == 0
                   ? std::string("No row could be read")
                   : fmt::format("The rows before the damage are written, and only those: the first {} rows", rows),
               (folder / "runs").string());
    return exit_code::run_error;
}

} // namespace

exit_code export_results(const std::filesystem::path& folder, export_format format, bool all_attempts,
                         const std::filesystem::path& file) {
    const auto journal = journal::journal_reader::open(folder);
    if (!journal) {
        return journal.error().kind == error_class::config
                   ? refuse("chalk sweep export", journal.error(), exit_code::run_error)
                   : refuse_rest(folder, journal.error(), 0);
    }
    const auto sweep = journal->sweep();
    if (!sweep) {
        return sweep.error().kind == error_class::config
                   ? refuse("chalk sweep export", sweep.error(), exit_code::run_error)
                   : refuse_rest(folder, sweep.error(), 0);
    }
    auto out = text_output::open(file);
    if (!out) {
        return refuse("chalk sweep export", out.error(), exit_code::run_error);
    }
    exporter rows(*journal, *sweep, format, all_attempts, *out);
    const auto read = rows.run();
    // What could be read of a damaged journal is worth having; the exit code and the message say that it is not all.
    if (const auto written = out->finish(); !written) {
        return refuse("chalk sweep export", written.error(), exit_code::run_error);
    }
    if (!read) {
        return refuse_rest(folder, read.error(), rows.rows());
    }
    return exit_code::fine;
}

} // namespace chalk::cli
