#include "cli/progress/board.hpp"

#include "cli/progress/event_text.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace chalk::cli {

namespace {

constexpr std::size_t most_cells = 1000; ///< that are told apart
constexpr std::size_t cells_shown = 12;
constexpr std::size_t slowest_shown = 3;
constexpr std::size_t failures_shown = 3;
constexpr std::chrono::seconds rate_over{30};
constexpr std::chrono::milliseconds rate_step{500};

std::string cut(std::string text, std::size_t width) {
    // Byte-wise: a long line of other scripts is cut early rather than late.
    if (text.size() > width) {
        text.resize(width > 3 ? width - 3 : width);
        while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xC0U) == 0x80U) {
            text.pop_back();
        }
        if (!text.empty() && static_cast<unsigned char>(text.back()) >= 0xC0U) {
            text.pop_back();
        }
        text += width > 3 ? "..." : "";
    }
    return text;
}

std::string bar(double share, std::size_t width) {
    const auto full = static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * static_cast<double>(width));
    return "[" + std::string(full, '#') + std::string(width - full, '.') + "]";
}

} // namespace

std::string clock_text(std::chrono::seconds time) {
    const auto s = time.count();
    return s >= 3600 ? fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60)
                     : fmt::format("{}:{:02}", s / 60, s % 60);
}

board::cell* board::cell_of(const actors::run_order& order) {
    const auto found = cells_.find(order.key.cell);
    if (found != cells_.end()) {
        return &found->second;
    }
    if (order.cell_label.empty() || cells_.size() >= most_cells) {
        more_cells_ = !order.cell_label.empty();
        return nullptr;
    }
    cell& made = cells_[order.key.cell];
    made.label = printable(order.cell_label);
    return &made;
}

void board::began(const actors::run_order& order, clock::time_point now) {
    running_[order.config.id.str()] = {now, order.key.cell};
    if (auto* c = cell_of(order)) {
        ++c->running;
    }
}

void board::ended(const actors::run_result& what, const actors::sweep_counts& counts, bool retried,
                  clock::time_point now) {
    const bool was_running = running_.erase(what.order->config.id.str()) > 0;
    if (!ended_before_) {
        ended_before_ = counts.ended() - (retried ? 0 : 1);
    }
    counts_ = counts;
    if (auto* c = cell_of(*what.order)) {
        c->running -= was_running && c->running > 0 ? 1 : 0;
        c->passed += what.how.status == outcome_status::passed ? 1 : 0;
        c->failed += what.how.status == outcome_status::failed ? 1 : 0;
        c->errors += what.how.status == outcome_status::error && !retried ? 1 : 0;
        if (what.score) {
            c->score_sum += *what.score;
            ++c->scored;
        }
    }
    if (what.how.status == outcome_status::error) {
        failures_.push_back(fmt::format("{} {}: {}{}", what.order->config.id.str(),
                                        what.how.kind ? to_string(*what.how.kind) : "error",
                                        printable(what.how.message), retried ? " (tried again)" : ""));
        if (failures_.size() > failures_shown) {
            failures_.pop_front();
        }
    }
    if (recent_.empty() || now - recent_.back().first >= rate_step) {
        recent_.emplace_back(now, counts_.ended());
        while (recent_.size() > 2 && now - recent_.front().first > rate_over) {
            recent_.pop_front();
        }
    }
}

/// Runs a second, over the last half minute.
double board::rate(clock::time_point now) const {
    const auto from =
        recent_.empty() || recent_.size() < 2 ? std::pair(start_, ended_before_.value_or(0)) : recent_.front();
    const double took = std::chrono::duration<double>(now - from.first).count();
    return took <= 0 ? 0 : static_cast<double>(counts_.ended() - std::min(counts_.ended(), from.second)) / took;
}

std::string board::figures(const actors::sweep_counts& c, std::size_t running, clock::time_point now) const {
    const auto score = c.mean_score();
    return fmt::format("{} of {} done, {} running, {} passed, {} failed, {} errors{}{}{}{}, {}", c.ended(), c.total,
                       running, c.passed, c.failed, c.errors,
                       c.cancelled == 0 ? "" : fmt::format(", {} cancelled", c.cancelled),
                       c.skipped == 0 ? "" : fmt::format(", {} skipped", c.skipped),
                       c.retries == 0 ? "" : fmt::format(", {} retries", c.retries),
                       score ? fmt::format(", mean score {:.4g}", *score) : "",
                       clock_text(std::chrono::duration_cast<std::chrono::seconds>(now - start_)));
}

std::string board::summary(const actors::sweep_counts& counts, clock::time_point now) const {
    return figures(counts, 0, now);
}

std::string board::status_line(clock::time_point now) const {
    std::string text = figures(counts_, running(), now);
    const double per_s = rate(now);
    const std::uint64_t left = counts_.total - std::min(counts_.total, counts_.ended() + counts_.skipped);
    if (per_s > 0 && left > 0) {
        const std::chrono::seconds until(static_cast<std::int64_t>(static_cast<double>(left) / per_s));
        text += fmt::format(", {:.3g}/s, {} left", per_s, clock_text(until));
    }
    return text;
}

void board::add_cells(std::vector<std::string>& out, std::size_t most) const {
    if (cells_.size() < 2) {
        return;
    }
    std::vector<const cell*> order;
    for (const auto& [number, c] : cells_) {
        order.push_back(&c);
    }
    // Those where something happens first, then those with errors.
    const auto weight = [](const cell* c) { return std::pair(c->errors > 0, c->running); };
    std::stable_sort(order.begin(), order.end(), [&](const cell* a, const cell* b) { return weight(a) > weight(b); });
    const std::size_t shown = std::min({order.size(), most, cells_shown});
    for (std::size_t i = 0; i < shown; ++i) {
        const cell& c = *order[i];
        out.push_back(fmt::format("  {:>4} running {:>6} passed {:>6} failed {:>5} errors  {:>6}  {}", c.running,
                                  c.passed, c.failed, c.errors,
                                  c.scored == 0 ? std::string("-")
                                                : fmt::format("{:.3f}", c.score_sum / static_cast<double>(c.scored)),
                                  c.label));
    }
    if (shown < order.size() || more_cells_) {
        out.push_back(fmt::format("  and {}{} more cells", more_cells_ ? "at least " : "", order.size() - shown));
    }
}

void board::add_slowest(std::vector<std::string>& out, clock::time_point now) const {
    std::vector<std::pair<clock::time_point, std::string>> all;
    for (const auto& [id, run] : running_) {
        all.emplace_back(run.since, id);
    }
    const std::size_t shown = std::min(all.size(), slowest_shown);
    std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(shown), all.end());
    for (std::size_t i = 0; i < shown; ++i) {
        out.push_back(fmt::format("  slowest: {} for {}", all[i].second,
                                  clock_text(std::chrono::duration_cast<std::chrono::seconds>(now - all[i].first))));
    }
}

std::vector<std::string> board::lines(std::size_t width, std::size_t height, clock::time_point now) const {
    const double share = counts_.total == 0 ? 1
                                            : static_cast<double>(counts_.ended() + counts_.skipped) /
                                                  static_cast<double>(counts_.total);
    std::vector<std::string> out = {bar(share, 20) + " " + status_line(now)};
    const std::size_t rest =
        height > 1 + slowest_shown + failures_.size() ? height - 1 - slowest_shown - failures_.size() : 0;
    if (rest > 1) {
        add_cells(out, rest - 1);
        add_slowest(out, now);
        for (const auto& failure : failures_) {
            out.push_back("  error: " + failure);
        }
    }
    if (out.size() > height) {
        out.resize(std::max<std::size_t>(height, 1));
    }
    for (auto& line : out) {
        line = cut(std::move(line), width);
    }
    return out;
}

} // namespace chalk::cli
