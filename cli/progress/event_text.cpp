#include "cli/progress/event_text.hpp"

#include "protocol/core/overloaded.hpp"

#include <fmt/format.h>

namespace chalk::cli {

namespace {

constexpr std::size_t most_lines = 40;
constexpr std::size_t most_line_bytes = 2000;
constexpr std::string_view replacement = "\xEF\xBF\xBD";

/// `text` line by line, the first after `head`, the others indented.
void add_text(std::vector<std::string>& out, const std::string& head, std::string_view text) {
    std::size_t lines = 0;
    std::size_t left = 0;
    while (true) {
        const auto end = text.find('\n');
        const std::string_view line = text.substr(0, end);
        const bool last = end == std::string_view::npos || end + 1 == text.size();
        if (lines < most_lines) {
            const bool cut = line.size() > most_line_bytes;
            out.push_back((lines == 0 ? head : std::string("    ")) + printable(line.substr(0, most_line_bytes)) +
                          (cut ? fmt::format(" [{} more bytes]", line.size() - most_line_bytes) : ""));
            ++lines;
        } else {
            ++left;
        }
        if (last) {
            break;
        }
        text.remove_prefix(end + 1);
    }
    if (left > 0) {
        out.push_back(fmt::format("    [{} more lines]", left));
    }
}

std::string_view name_of(message_role role) {
    switch (role) {
    case message_role::system:
        return "system";
    case message_role::user:
        return "user";
    case message_role::assistant:
        return "assistant";
    }
    return "?";
}

} // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // C1 controls arrive as two bytes in UTF-8: C2 80 to C2 9F.
        const bool c1 = byte == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0;
        if ((byte < 0x20 && byte != '\t') || byte == 0x7F || c1) {
            out += replacement;
            i += c1 ? 1 : 0;
        } else {
            out += text[i];
        }
    }
    return out;
}

std::vector<std::string> event_text(const event& e, log_level least) {
    std::vector<std::string> out;
    std::visit(
        overloaded{
            [&](const task_started& x) {
                add_text(out, "",
                         fmt::format("task {} started, {} steps, agent {} {}", x.task, x.step_count, x.agent, x.model));
            },
            [&](const task_pre_hook_completed&) { out.emplace_back("pre-hook done"); },
            [&](const step_started& x) { add_text(out, "", fmt::format("step {} {} started", x.index + 1, x.name)); },
            [&](const message_added& x) {
                if (!x.text.empty()) {
                    add_text(out, fmt::format("{}{}: ", name_of(x.role), x.aborted ? " (stream broke)" : ""), x.text);
                }
                for (const auto& call : x.tool_calls) {
                    add_text(out, fmt::format("{} {} ", x.aborted ? "was to call" : "calls", printable(call.name)),
                             call.arguments.dump(-1, ' ', false, json::error_handler_t::replace));
                }
            },
            [&](const tool_result& x) {
                add_text(out, fmt::format("{} {}: ", printable(x.name), x.is_error ? "failed" : "answered"), x.text);
            },
            [&](const limit_reached& x) { add_text(out, "limit reached: ", x.message); },
            [&](const agent_completed& x) {
                add_text(out,
                         fmt::format("the agent's work on step {} is over after {} ms", x.step + 1, x.duration.count()),
                         {});
            },
            [&](const artifact_saved& x) { add_text(out, "artifact saved: ", x.path); },
            [&](const step_scored& x) {
                add_text(out,
                         fmt::format("step {} scored {:.4g}{} ", x.step + 1, x.score,
                                     x.student_misbehaved ? " (student misbehaved)" : ""),
                         x.explanation);
            },
            [&](const step_completed& x) {
                out.push_back(fmt::format("step {} done in {:.1f} s", x.index + 1,
                                          static_cast<double>(x.duration.count()) / 1000));
            },
            [&](const task_completed& x) { out.push_back(fmt::format("task {}", to_string(x.status))); },
            [&](const run_failed& x) {
                add_text(out, fmt::format("error ({}): ", to_string(x.kind)), x.message);
                if (!x.details.empty()) {
                    add_text(out, "    ", x.details);
                }
            },
            [&](const run_cancelled& x) { add_text(out, "cancelled: ", x.reason); },
            [&](const log_line& x) {
                if (x.level >= least) {
                    add_text(out, fmt::format("{}: ", printable(x.source)), x.text);
                }
            },
        },
        e.body);
    return out;
}

} // namespace chalk::cli
