#include "config/sweep/sweep_file_keys.hpp"

#include "config/optional_json.hpp"

#include <algorithm>
#include <cmath>

namespace chalk::config {

namespace {

constexpr std::uint64_t largest_size = std::uint64_t{1} << 60U;

/// Never 0: the smallest wait is a millisecond.
milliseconds to_duration(const json& seconds) {
    constexpr double per_second = 1'000;
    return milliseconds(std::max<long long>(1, std::llround(seconds.get<double>() * per_second)));
}

std::optional<milliseconds> optional_duration(const json& seconds) {
    return seconds.is_null() ? std::nullopt : std::optional(to_duration(seconds));
}

/// A whole number where it is one.
json to_seconds(milliseconds value) {
    constexpr milliseconds::rep per_second = 1'000;
    return value.count() % per_second == 0 ? json(value.count() / per_second)
                                           : json(static_cast<double>(value.count()) / per_second);
}

json seconds_or_null(const std::optional<milliseconds>& value) {
    return value ? to_seconds(*value) : json();
}

std::optional<bytes> optional_bytes(const json& value) {
    return value.is_null() ? std::nullopt : std::optional(bytes{value.get<std::uint64_t>()});
}

json bytes_or_null(const std::optional<bytes>& value) {
    return value ? json(value->count) : json();
}

std::vector<error_class> error_classes(const json& names) {
    std::vector<error_class> kinds;
    for (const auto& name : names) { // check_value has seen them
        kinds.push_back(parse_error_class(name.get<std::string>()).value());
    }
    return kinds;
}

json names(const std::vector<error_class>& kinds) {
    json list = json::array();
    for (const auto kind : kinds) {
        list.push_back(to_string(kind));
    }
    return list;
}

const std::vector<sweep_key>& rows() {
    static const std::vector<sweep_key> keys = {
        {{.path = "name",
          .required = true,
          .pattern = run_id_pattern,
          .doc = "First part of every run id, which is NAME.CELL.REPEAT: letters, digits, dots, underscores and "
                 "dashes, a letter or digit first."},
         [](sweep_file& s, const json& v) { s.name = v.get<std::string>(); },
         [](const sweep_file& s) { return json(s.name); }},
        {{.path = "base",
          .kind = value_kind::run_config_or_path,
          .required = true,
          .doc = "What all runs share: a run config, or the path of one. Without seed and websocket_port; run_id and "
                 "transcript_file are replaced."}},
        {{.path = "axes",
          .kind = value_kind::axes,
          .shown_default = "none: one cell",
          .doc = "What runs differ in: a run config key with a list of values, or a name of your own with a list of "
                 "objects of keys that move together."}},
        {{.path = "include",
          .kind = value_kind::filters,
          .shown_default = "all",
          .doc = "Cells to keep: each entry gives values, or lists of values, of some axes or keys; a cell is kept if "
                 "any entry matches. Empty: all."}},
        {{.path = "exclude",
          .kind = value_kind::filters,
          .shown_default = "none",
          .doc = "Cells to leave out, in the same form; stands above include."}},
        {{.path = "repeat",
          .kind = value_kind::whole_number,
          .minimum = 1,
          .maximum = 1'000'000'000,
          .doc = "Runs of each cell."},
         [](sweep_file& s, const json& v) { s.repeat = v.get<std::uint64_t>(); },
         [](const sweep_file& s) { return json(s.repeat); }},
        {{.path = "seed",
          .kind = value_kind::whole_number,
          .maximum = largest_seed,
          .doc = "Number from which each repeat's seed is derived; the same repeat of all cells has the same one."},
         [](sweep_file& s, const json& v) { s.seed = v.get<std::uint64_t>(); },
         [](const sweep_file& s) { return json(s.seed); }},
        {{.path = "retry.max_attempts",
          .kind = value_kind::whole_number,
          .minimum = 1,
          .maximum = 100,
          .doc = "Attempts of a run, the first one counted; 1 tries nothing again."},
         [](sweep_file& s, const json& v) { s.retry.max_attempts = v.get<std::uint32_t>(); },
         [](const sweep_file& s) { return json(s.retry.max_attempts); }},
        {{.path = "retry.on",
          .kind = value_kind::text_list,
          .choices = {"image", "sandbox", "harness", "task", "model", "timeout", "node_lost"},
          .doc = "Errors after which a run is tried again, by class (docs/reference/lifecycle.md)."},
         [](sweep_file& s, const json& v) { s.retry.on = error_classes(v); },
         [](const sweep_file& s) { return names(s.retry.on); }},
        {{.path = "retry.backoff_s",
          .kind = value_kind::amount,
          .maximum = 86'400,
          .doc = "Seconds before the second attempt; doubled before each further one."},
         [](sweep_file& s, const json& v) { s.retry.backoff = to_duration(v); },
         [](const sweep_file& s) { return to_seconds(s.retry.backoff); }},
        {{.path = "retry.max_backoff_s",
          .kind = value_kind::amount,
          .maximum = 86'400,
          .doc = "Seconds before any attempt at the most."},
         [](sweep_file& s, const json& v) { s.retry.max_backoff = to_duration(v); },
         [](const sweep_file& s) { return to_seconds(s.retry.max_backoff); }},
        {{.path = "deadlines.prepare_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that it may take to prepare an attempt's environment, before its sandbox starts."},
         [](sweep_file& s, const json& v) { s.deadlines.prepare = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.prepare); }},
        {{.path = "deadlines.setup_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that an attempt may take from the start of its sandbox to its first step."},
         [](sweep_file& s, const json& v) { s.deadlines.setup = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.setup); }},
        {{.path = "deadlines.agent_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that the agent may work on one step; chalk's own is the whole run's."},
         [](sweep_file& s, const json& v) { s.deadlines.agent = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.agent); }},
        {{.path = "deadlines.score_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that hooks and judge may take to score one step; chalk's own is the whole run's."},
         [](sweep_file& s, const json& v) { s.deadlines.score = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.score); }},
        {{.path = "deadlines.teardown_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that an attempt may take to end once it is scored."},
         [](sweep_file& s, const json& v) { s.deadlines.teardown = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.teardown); }},
        {{.path = "deadlines.run_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "chalk's own",
          .doc = "Seconds that an attempt may take in all."},
         [](sweep_file& s, const json& v) { s.deadlines.run = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.run); }},
        {{.path = "deadlines.sweep_s",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 31'536'000,
          .shown_default = "no limit",
          .doc = "Seconds that the sweep may take in all; then it ends what is under way, and a resume goes on."},
         [](sweep_file& s, const json& v) { s.deadlines.sweep = optional_duration(v); },
         [](const sweep_file& s) { return seconds_or_null(s.deadlines.sweep); }},
        {{.path = "stop.max_errors",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = 1'000'000'000'000,
          .shown_default = "no limit",
          .doc = "Runs that may end as error: at this number the sweep starts no more."},
         [](sweep_file& s, const json& v) { s.stop.max_errors = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.stop.max_errors); }},
        {{.path = "stop.max_error_rate",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 1,
          .shown_default = "no limit",
          .doc = "Share of the ended runs that may be errors: above it the sweep starts no more."},
         [](sweep_file& s, const json& v) { s.stop.max_error_rate = optional_of<double>(v); },
         [](const sweep_file& s) { return or_null(s.stop.max_error_rate); }},
        {{.path = "stop.after_runs",
          .kind = value_kind::whole_number,
          .minimum = 1,
          .maximum = 1'000'000'000'000,
          .doc = "Runs that must have ended before max_error_rate is looked at."},
         [](sweep_file& s, const json& v) { s.stop.after_runs = v.get<std::uint64_t>(); },
         [](const sweep_file& s) { return json(s.stop.after_runs); }},
        {{.path = "stop.first_pass",
          .kind = value_kind::boolean,
          .doc = "A cell is done with its first run that passes."},
         [](sweep_file& s, const json& v) { s.stop.first_pass = v.get<bool>(); },
         [](const sweep_file& s) { return json(s.stop.first_pass); }},
        {{.path = "breaker.max_errors",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = 1'000'000'000'000,
          .shown_default = "no breaker",
          .doc =
              "Attempts that may end as error within window_s: at this number the cell, or the sweep, starts no more."},
         [](sweep_file& s, const json& v) { s.breaker.max_errors = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.breaker.max_errors); }},
        {{.path = "breaker.window_s",
          .kind = value_kind::amount,
          .maximum = 31'536'000,
          .doc = "Seconds over which the breaker counts."},
         [](sweep_file& s, const json& v) { s.breaker.window = to_duration(v); },
         [](const sweep_file& s) { return to_seconds(s.breaker.window); }},
        {{.path = "breaker.scope",
          .choices = {"cell", "sweep"},
          .doc = "What the breaker counts and stops: each cell by itself, or the sweep."},
         [](sweep_file& s, const json& v) {
             s.breaker.scope = v == "sweep" ? breaker_scope::sweep : breaker_scope::cell;
         },
         [](const sweep_file& s) { return json(breaker_scope_names.at(static_cast<std::size_t>(s.breaker.scope))); }},
        {{.path = "budget.max_concurrent",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = 1'000'000,
          .shown_default = "what fits",
          .doc = "Runs at once."},
         [](sweep_file& s, const json& v) { s.budget.max_concurrent = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.budget.max_concurrent); }},
        {{.path = "budget.cpus",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 1'000'000,
          .shown_default = "the machine's",
          .doc = "Cpus of all runs at once."},
         [](sweep_file& s, const json& v) { s.budget.cpus = optional_of<double>(v); },
         [](const sweep_file& s) { return or_null(s.budget.cpus); }},
        {{.path = "budget.memory_bytes",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = largest_size,
          .shown_default = "the machine's",
          .doc = "Bytes of memory of all runs at once."},
         [](sweep_file& s, const json& v) { s.budget.memory = optional_bytes(v); },
         [](const sweep_file& s) { return bytes_or_null(s.budget.memory); }},
        {{.path = "budget.disk_bytes",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = largest_size,
          .shown_default = "the machine's",
          .doc = "Bytes of disk of all runs at once."},
         [](sweep_file& s, const json& v) { s.budget.disk = optional_bytes(v); },
         [](const sweep_file& s) { return bytes_or_null(s.budget.disk); }},
        {{.path = "budget.processes",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = 1'000'000'000,
          .shown_default = "the machine's",
          .doc = "Processes of all runs at once."},
         [](sweep_file& s, const json& v) { s.budget.processes = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.budget.processes); }},
        {{.path = "budget.open_files",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = 1'000'000'000,
          .shown_default = "the machine's",
          .doc = "Open files of chalk for all runs at once."},
         [](sweep_file& s, const json& v) { s.budget.open_files = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.budget.open_files); }},
        {{.path = "budget.tokens",
          .kind = value_kind::whole_number,
          .nullable = true,
          .minimum = 1,
          .maximum = largest_size,
          .shown_default = "no limit",
          .doc = "Input and output tokens of all model calls of the sweep."},
         [](sweep_file& s, const json& v) { s.budget.tokens = optional_of<std::uint64_t>(v); },
         [](const sweep_file& s) { return or_null(s.budget.tokens); }},
        {{.path = "budget.usd",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 1'000'000'000,
          .shown_default = "no limit",
          .doc = "US dollars of all model calls of the sweep, by the file of --prices."},
         [](sweep_file& s, const json& v) { s.budget.usd = optional_of<double>(v); },
         [](const sweep_file& s) { return or_null(s.budget.usd); }},
        {{.path = "seal_at",
          .kind = value_kind::amount,
          .nullable = true,
          .maximum = 1,
          .shown_default = "never",
          .doc = "Share of the runs at whose end, when nothing waits to be started, those that still work are cut off "
                 "as error timeout."},
         [](sweep_file& s, const json& v) { s.seal_at = optional_of<double>(v); },
         [](const sweep_file& s) { return or_null(s.seal_at); }},
    };
    return keys;
}

} // namespace

std::span<const sweep_key> sweep_file_keys() {
    return rows();
}

const sweep_key& row_of(const key_spec& spec) {
    return *std::find_if(rows().begin(), rows().end(), [&](const sweep_key& row) { return &row.spec == &spec; });
}

const key_table& sweep_file_table() {
    static const key_table table = [] {
        std::vector<const key_spec*> keys;
        for (const auto& row : rows()) {
            keys.push_back(&row.spec);
        }
        return key_table(std::move(keys), [](const key_spec& spec) {
            const auto& row = row_of(spec);
            return row.get == nullptr ? json() : row.get(sweep_file{});
        });
    }();
    return table;
}

json sweep_file_schema() {
    auto schema = sweep_file_table().schema("chalk sweep file");
    auto& base = schema["properties"]["base"]["anyOf"][1]["properties"];
    base.erase("seed"); // what runs of a sweep get from it, or cannot have
    base.erase("websocket_port");
    return schema;
}

std::string sweep_file_markdown() {
    return sweep_file_table().markdown();
}

} // namespace chalk::config
