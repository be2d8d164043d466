#include "cli/commands.hpp"
#include "cli/show/page.hpp"
#include "protocol/core/json_text.hpp"
#include "protocol/transcript/transcript.hpp"

#include <fmt/format.h>

#include <memory>

namespace chalk::cli {

namespace {

struct show_options {
    std::vector<std::string> files;
    bool as_json = false;
    bool full = false;
};

std::string render(const std::vector<named_transcript>& transcripts, const show_options& options) {
    if (options.as_json) {
        if (options.files.size() == 1) {
            return dump_json(transcripts.front().document, 2) + "\n";
        }
        std::string lines; // one document a line, so that a reader need not hold all of them
        for (const auto& one : transcripts) {
            lines += dump_json(one.document) + "\n";
        }
        return lines;
    }
    auto style = style_of_stdout();
    style.full = options.full;
    return options.files.size() == 1 ? transcript_page(transcripts.front().document, style)
                                     : transcript_table(transcripts, style);
}

exit_code show(const show_options& options) {
    std::vector<named_transcript> transcripts;
    bool all_read = true;
    for (const auto& file : options.files) {
        auto document = read_transcript(file);
        if (document) {
            transcripts.push_back({file, std::move(*document)});
        } else {
            fmt::print(stderr, "chalk: {}\n", document.error().message);
            all_read = false;
        }
    }
    // Of several files the good ones are still shown.
    const auto written = transcripts.empty() ? exit_code::fine : put(render(transcripts, options));
    return all_read ? written : exit_code::usage;
}

} // namespace

void add_show_command(CLI::App& app, exit_code& code) {
    auto* command = app.add_subcommand("show", "Print a transcript to read, or a table of several");
    const auto options = std::make_shared<show_options>();
    command->add_option("files", options->files, "transcript files")->required()->type_name("FILE...");
    command->add_flag("--json", options->as_json, "print the transcript itself; of several, one a line");
    command->add_flag("--full", options->full, "cut nothing");
    command->callback([options, &code] { code = show(*options); });
}

} // namespace chalk::cli
