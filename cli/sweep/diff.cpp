#include "cli/refused.hpp"
#include "cli/show/page.hpp"
#include "cli/sweep/columns.hpp"
#include "cli/sweep/results.hpp"
#include "cli/sweep/values.hpp"
#include "protocol/statistics/compare.hpp"
#include "protocol/statistics/sweep_figures.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cli {

namespace {

struct side {
    std::filesystem::path folder;
    journal::sweep_row sweep;
    statistics::group_figures figures;
    std::vector<statistics::cell_side> cells;
};

result<side> load(const std::filesystem::path& folder) {
    const auto journal = journal::journal_reader::open(folder);
    if (!journal) {
        return journal.error();
    }
    auto sweep = journal->sweep();
    if (!sweep) {
        return sweep.error();
    }
    side loaded{folder, std::move(*sweep), {}, {}};
    auto figures = statistics::figure_out(*journal, [&](const statistics::cell_figures& one) {
        if (one.cell.id.empty()) {
            return; // none of its runs was started: it has neither a name nor a score
        }
        const auto& runs = one.figures.runs;
        loaded.cells.push_back({one.cell.id, one.cell.label, one.cell.config_digest, one.cell.environment_digest,
                                one.cell.image_digest, one.group->scores(), runs.of(statistics::standing::passed),
                                runs.judged()});
    });
    if (!figures) {
        return figures.error();
    }
    loaded.figures = std::move(*figures);
    return loaded;
}

/// What the sweeps were told to do, key by key; and what else went into their runs.
std::vector<statistics::key_difference> config_differences(const side& a, const side& b) {
    const auto document = [](const side& s) {
        auto parsed = parse_json(s.sweep.opened.document);
        return parsed ? std::move(*parsed) : json::object();
    };
    auto keys = statistics::differing_keys(document(a), document(b));
    const auto add = [&](const char* key, const std::string& left, const std::string& right) {
        if (left != right) {
            keys.push_back({key, json(left), json(right)});
        }
    };
    add("chalk_version", a.sweep.chalk_version, b.sweep.chalk_version);
    add("prices_digest", a.sweep.opened.prices_digest, b.sweep.opened.prices_digest);
    return keys;
}

std::vector<std::string> differing_digests(const statistics::cell_comparison& cell) {
    std::vector<std::string> names;
    if (cell.a.config_digest != cell.b.config_digest) {
        names.emplace_back("config");
    }
    if (cell.a.environment_digest != cell.b.environment_digest) {
        names.emplace_back("environment");
    }
    if (cell.a.image_digest != cell.b.image_digest) {
        names.emplace_back("image");
    }
    return names;
}

json to_json(const statistics::difference& d) {
    json range = nullptr;
    if (d.range) {
        range = {{"low", d.range->low}, {"high", d.range->high}, {"method", d.range->method}};
    }
    return {{"a", or_null(d.a)}, {"b", or_null(d.b)}, {"difference", or_null(d.value)}, {"interval", std::move(range)}};
}

json to_json(const side& s) {
    return {{"folder", s.folder.string()},
            {"name", s.sweep.opened.name},
            {"file_digest", s.sweep.opened.file_digest},
            {"warnings", s.figures.warnings}};
}

json alone(const std::vector<statistics::cell_side>& cells) {
    json list = json::array();
    for (const auto& cell : cells) {
        list.push_back({{"id", cell.id}, {"label", cell.label}});
    }
    return list;
}

json to_json(const side& a, const side& b, const statistics::sweep_comparison& all) {
    json keys = json::array();
    for (const auto& key : config_differences(a, b)) {
        keys.push_back({{"key", key.key}, {"a", or_null(key.a)}, {"b", or_null(key.b)}});
    }
    json cells = json::array();
    for (const auto& cell : all.cells) {
        cells.push_back({{"id", cell.a.id},
                         {"label", cell.a.label},
                         {"differs", differing_digests(cell)},
                         {"score", to_json(cell.score)},
                         {"scored", {{"a", cell.a.scores.count}, {"b", cell.b.scores.count}}},
                         {"pass_rate", to_json(cell.pass_rate)},
                         {"judged", {{"a", cell.a.judged}, {"b", cell.b.judged}}}});
    }
    auto score = to_json(all.score);
    score["cells"] = all.scored_cells;
    auto rate = to_json(all.pass_rate);
    rate["cells"] = all.judged_cells;
    return {{"a", to_json(a)},
            {"b", to_json(b)},
            {"configs", std::move(keys)},
            {"cells", std::move(cells)},
            {"only_in_a", alone(all.only_in_a)},
            {"only_in_b", alone(all.only_in_b)},
            {"overall", {{"score", std::move(score)}, {"pass_rate", std::move(rate)}}}};
}

std::string difference_text(const statistics::difference& d) {
    if (!d.value) {
        return "-";
    }
    const auto sign = *d.value > 0 ? "+" : "";
    return d.range ? fmt::format("{}{} [{}, {}]", sign, score_text(*d.value), score_text(d.range->low),
                                 score_text(d.range->high))
                   : sign + score_text(*d.value);
}

std::vector<std::string> row_of(const std::string& label, const statistics::difference& score,
                                const statistics::difference& rate, const std::string& note) {
    return {label,
            number_text(score.a),
            number_text(score.b),
            difference_text(score),
            number_text(rate.a),
            number_text(rate.b),
            difference_text(rate),
            note};
}

std::string page(const side& a, const side& b, const statistics::sweep_comparison& all, const page_style& style) {
    std::string text;
    text +=
        "a: " + one_line(a.folder.string(), style.width) + "\nb: " + one_line(b.folder.string(), style.width) + "\n";
    const auto keys = config_differences(a, b);
    text += keys.empty() ? "\nnothing differs in what the sweeps were told\n" : "\nwhat differs:\n";
    for (const auto& key : keys) {
        const auto value = [](const std::optional<json>& v) { return v ? dump_json(*v) : std::string("(none)"); };
        text += "  " + one_line(fmt::format("{}: {} -> {}", key.key, value(key.a), value(key.b)), style.width) + "\n";
    }
    std::vector<std::vector<std::string>> rows;
    for (const auto& cell : all.cells) {
        rows.push_back(row_of(one_line(cell.a.label, style.width / 3), cell.score, cell.pass_rate,
                              fmt::format("{}", fmt::join(differing_digests(cell), ", "))));
    }
    rows.push_back(row_of(fmt::format("all {} cells", all.cells.size()), all.score, all.pass_rate, ""));
    text += "\n" + columns_text({"cell", "score a", "b", "b - a", "passed a", "b", "b - a", "differs"}, rows, style);
    const auto only = [&](const char* where, const std::vector<statistics::cell_side>& cells) {
        for (const auto& cell : cells) {
            text += fmt::format("only in {}: {}\n", where, one_line(cell.label, style.width));
        }
    };
    only("a", all.only_in_a);
    only("b", all.only_in_b);
    const auto notes = [&](const char* where, const side& s) {
        for (const auto& warning : s.figures.warnings) {
            for (const auto& line : wrap(fmt::format("note on {}: {}", where, warning), style.width)) {
                text += line + "\n";
            }
        }
    };
    notes("a", a);
    notes("b", b);
    return text;
}

} // namespace

exit_code diff_sweeps(const std::filesystem::path& a, const std::filesystem::path& b, bool as_json) {
    auto left = load(a);
    auto right = left ? load(b) : result<side>(left.error());
    if (!right) {
        return refuse("chalk sweep diff", right.error(), exit_code::run_error);
    }
    const auto all = statistics::compare(left->cells, right->cells);
    return put(as_json ? dump_json(to_json(*left, *right, all), 2) + "\n"
                       : page(*left, *right, all, style_of_stdout()));
}

} // namespace chalk::cli
