#include "actors/harness/cli_agent_step.hpp"

#include <fmt/format.h>

#include <utility>

namespace chalk::actors {

namespace {

constexpr std::size_t most_last_words = 1000;
/// Of a text that comes in pieces; a longer one is several messages.
constexpr std::size_t most_text = std::size_t{1} << 20U;

event_body said_by_agent(std::string text) {
    return message_added{message_role::assistant, std::move(text), {}, {}, {}, std::nullopt, {}};
}

} // namespace

std::string cli_agent_step::named(std::string_view what) const {
    return fmt::format("step {}: agent {} {}", index_, agent_.name, what);
}

std::vector<event_body> cli_agent_step::on_line(std::string_view line) {
    auto said = config::read_line(agent_, line);
    std::vector<event_body> record;
    if (!said.understood) {
        if (line.find_first_not_of(" \t\r") != std::string_view::npos) {
            last_words_ = line.substr(0, most_last_words);
        }
        return record;
    }
    if (said.in_pieces) {
        for (const auto& piece : said.texts) {
            text_ += piece;
        }
        said.texts.clear();
    }
    if (!text_.empty() && (!said.in_pieces || text_.size() > most_text)) {
        record.push_back(said_by_agent(std::exchange(text_, {})));
    }
    for (auto& text : said.texts) {
        record.push_back(said_by_agent(std::move(text)));
    }
    for (const auto& tool : said.uses) {
        record.emplace_back(log_line{log_level::info, "chalk", fmt::format("{} uses {}", agent_.name, tool)});
    }
    failures_.insert(failures_.end(), std::make_move_iterator(said.failures.begin()),
                     std::make_move_iterator(said.failures.end()));
    last_seen_ = last_seen_ || said.last;
    return record;
}

cli_agent_step::ending cli_agent_step::on_end(const result<confinement::command_result>& how,
                                              std::optional<limit_reached> limit) const {
    auto end = outcome_of(how, std::move(limit));
    if (!text_.empty()) { // what was being said when the program ended
        end.record.insert(end.record.begin(), said_by_agent(text_));
    }
    return end;
}

cli_agent_step::ending cli_agent_step::outcome_of(const result<confinement::command_result>& how,
                                                  std::optional<limit_reached> limit) const {
    if (!how) {
        return {{}, how.error()};
    }
    const bool well = last_seen_ && failures_.empty() && how->status.success() && !how->timed_out && !how->cancelled;
    if (!well && limit) {
        return {{std::move(*limit)}, std::nullopt};
    }
    if (how->timed_out) {
        return {{}, timeout_failure(named(fmt::format("did not end within {} s", how->duration.count() / 1000)))};
    }
    if (how->status.code == no_such_program && !last_seen_) {
        return {{},
                config_failure(named(fmt::format("is not there: no program {} on the student's PATH; to install it: {}",
                                                 agent_.program, agent_.install)))};
    }
    if (!failures_.empty()) {
        return {{}, model_failure(named("failed: " + failures_.front()))};
    }
    if (!last_seen_ || !how->status.success()) {
        return {{},
                model_failure(
                    named(fmt::format("{} ({}){}{}", last_seen_ ? "failed" : agent_.last.says,
                                      process::describe(how->status), last_words_.empty() ? "" : ": ", last_words_)))};
    }
    return {};
}

} // namespace chalk::actors
