#include "cli/cluster/sweep_sheet.hpp"

#include "protocol/core/sha256.hpp"
#include "protocol/core/strict_object.hpp"
#include "protocol/journal/trouble.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

namespace chalk::cli {

namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t sweep_sheet_version = 1;
constexpr std::size_t longest_sheet_name = 4096; ///< of a path, as Linux has it
constexpr milliseconds longest_sheet_wait = std::chrono::hours(24) * 366 * 10;

// One list of fields for both directions.

template<class Limits, class Visit>
void every_sandbox_limit(Limits& l, Visit visit) {
    visit("memory_bytes", l.memory);
    visit("student_memory_bytes", l.student_memory);
    visit("disk_bytes", l.disk);
    visit("student_disk_bytes", l.student_disk);
    visit("processes", l.processes);
    visit("student_processes", l.student_processes);
}

template<class Resources, class Visit>
void every_resource(Resources& r, Visit visit) {
    visit("memory_bytes", r.memory);
    visit("disk_bytes", r.disk);
    visit("processes", r.processes);
    visit("milli_cpus", r.milli_cpus);
    visit("open_files", r.open_files);
}

template<class Deadlines, class Visit>
void every_run_deadline(Deadlines& d, Visit visit) {
    visit("prepare", d.prepare);
    visit("start", d.start);
    visit("first_event", d.first_event);
    visit("setup", d.setup);
    visit("agent", d.agent);
    visit("score", d.score);
    visit("whole_run", d.whole_run);
    visit("exit_after_final", d.exit_after_final);
    visit("drain", d.drain);
    visit("cancel_grace", d.cancel_grace);
    visit("kill_grace", d.kill_grace);
    visit("remove", d.remove);
    visit("record", d.record);
    visit("deliver", d.deliver);
    visit("deliver_cancelled", d.deliver_cancelled);
}

json sheet_value(bytes size) {
    return size.count;
}
json sheet_value(std::uint32_t number) {
    return number;
}
json sheet_value(milliseconds span) {
    return span.count();
}
json sheet_value(const std::optional<milliseconds>& span) {
    return span ? json(span->count()) : json();
}

/// Puts what a list above visits into an object.
auto into(json& out) {
    return [&out](const char* name, const auto& value) { out[name] = sheet_value(value); };
}

json environment_json(const sheet_environment& one) {
    json limits = json::object();
    every_sandbox_limit(one.limits, into(limits));
    json reservation = json::object();
    every_resource(one.reservation, into(reservation));
    return {{"name", one.name},
            {"digest", one.digest},
            {"tree", one.tree ? json(one.tree->hex()) : json()},
            {"limits", std::move(limits)},
            {"reservation", std::move(reservation)}};
}

void read_sheet_environment(strict_object& from, sheet_environment& one) {
    constexpr std::size_t longest_sum = 80;
    std::optional<std::string> tree;
    from.read("name", one.name, longest_sheet_name);
    from.read("digest", one.digest, longest_sum);
    from.read("tree", tree, longest_sum);
    from.read_object("limits", [&](strict_object& limits) {
        every_sandbox_limit(one.limits, [&](const char* name, auto& value) { limits.read(name, value); });
    });
    from.read_object("reservation", [&](strict_object& reservation) {
        every_resource(one.reservation, [&](const char* name, auto& value) { reservation.read(name, value); });
    });
    if (one.name == config::noop_environment) {
        if (tree || !one.digest.empty()) {
            from.refuse("tree", "this environment has no files");
        }
        return;
    }
    constexpr std::string_view prefix = "sha256:";
    if (!one.digest.starts_with(prefix) || !store::parse_sha256(std::string_view(one.digest).substr(prefix.size()))) {
        from.refuse("digest", "expected sha256: and 64 lower-case hexadecimal digits");
    }
    const auto sum = store::parse_sha256(tree.value_or(""));
    if (!sum) {
        return from.refuse("tree", "expected 64 lower-case hexadecimal digits");
    }
    one.tree = store::tree_digest{*sum};
}

void read_sheet_options(strict_object& top, sweep_sheet& sheet) {
    constexpr std::size_t longest_word = 100;
    std::string reach;
    top.read("id", sheet.id, longest_word);
    top.read("name", sheet.name, longest_sheet_name);
    top.read("runtime", sheet.runtime, longest_word);
    top.read("keep", sheet.keep);
    top.read("student_network", reach, longest_word);
    if (sheet.id.empty()) {
        top.refuse("id", "must not be empty");
    }
    if (sheet.runtime.empty()) {
        top.refuse("runtime", "must not be empty");
    }
    const auto known = firewall::parse_reach(reach);
    if (!known || reach.empty()) {
        return top.refuse("student_network", "expected internal or local");
    }
    sheet.reach = *known;
}

} // namespace

const sheet_environment* sweep_sheet::find(std::string_view environment) const {
    const auto found = std::find_if(environments.begin(), environments.end(),
                                    [&](const auto& one) { return one.name == environment; });
    return found == environments.end() ? nullptr : &*found;
}

std::string sweep_id_of(const journal::sweep_opened& opened, const fs::path& folder) {
    // Of the file and not the folder, whose name may end in a slash. Before the folder is there it has the same one.
    std::error_code ec; // then it is named as it was given
    auto place = fs::absolute(folder / journal::journal_name, ec);
    if (const auto real = fs::weakly_canonical(place, ec); !ec) {
        place = real;
    }
    // To the millisecond, as the journal keeps it.
    const auto at = std::chrono::duration_cast<milliseconds>(opened.at.time_since_epoch()).count();
    constexpr std::size_t digits = 32;
    return sha256_hex(fmt::format("chalk sweep\n{}\n{}\n{}\n{}\n{}", at, opened.name, opened.seed, opened.file_digest,
                                  place.string()))
        .substr(0, digits);
}

sweep_sheet describe_sweep(const sweep_site& site, std::string id, const std::vector<environment_tree>& trees) {
    sweep_sheet sheet;
    sheet.id = std::move(id);
    sheet.name = site.name();
    const auto& common = site.common();
    sheet.runtime = common.sandboxes ? common.sandboxes->name() : no_runtime;
    sheet.keep = site.how().keep;
    sheet.reach = common.reach;
    sheet.deadlines = site.deadlines();
    for (const auto& [name, one] : site.environments()) {
        const auto tree = std::find_if(trees.begin(), trees.end(), [&](const auto& t) { return t.name == name; });
        sheet.environments.push_back({name.string(), one.prepared.environment.digest,
                                      tree == trees.end() ? std::nullopt : std::optional(tree->digest),
                                      one.prepared.limits.sandbox, one.prepared.limits.reservation});
    }
    return sheet;
}

result<std::string> sweep_sheet_text(const sweep_sheet& sheet) {
    json environments = json::array();
    for (const auto& one : sheet.environments) {
        environments.push_back(environment_json(one));
    }
    json deadlines = json::object();
    every_run_deadline(sheet.deadlines, into(deadlines));
    auto text = dump_json({{"sheet", sweep_sheet_version},
                           {"id", sheet.id},
                           {"name", sheet.name},
                           {"runtime", sheet.runtime},
                           {"keep", sheet.keep},
                           {"student_network", firewall::to_string(sheet.reach)},
                           {"deadlines_ms", std::move(deadlines)},
                           {"environments", std::move(environments)}});
    if (sheet.environments.size() > most_sheet_environments || text.size() > largest_sweep_sheet.count) {
        return config_failure(fmt::format("the sweep has {} environments; a cluster takes {} at most: split the sweep",
                                          sheet.environments.size(), most_sheet_environments));
    }
    return text;
}

result<sweep_sheet> read_sweep_sheet(std::string_view text) {
    sweep_sheet sheet;
    auto read = read_strictly(text, largest_sweep_sheet, "the sheet of a sweep", [&](strict_object& top) {
        auto version = sweep_sheet_version;
        top.read("sheet", version, sweep_sheet_version, sweep_sheet_version);
        read_sheet_options(top, sheet);
        top.read_object("deadlines_ms", [&](strict_object& deadlines) {
            every_run_deadline(sheet.deadlines, [&](const char* name, auto& span) {
                deadlines.read(name, span, milliseconds(0), longest_sheet_wait);
            });
        });
        std::set<std::string, std::less<>> names;
        top.read_objects("environments", most_sheet_environments, [&](strict_object& item) {
            auto& one = sheet.environments.emplace_back();
            read_sheet_environment(item, one);
            if (!names.insert(one.name).second) {
                item.refuse("name", "is there twice");
            }
            if ((one.name == config::noop_environment) && sheet.runtime != no_runtime) {
                item.refuse("name", "builtin:noop has no sandbox");
            }
        });
    });
    if (!read) {
        return read.error();
    }
    return sheet;
}

} // namespace chalk::cli
