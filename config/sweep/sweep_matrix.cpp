#include "config/sweep/sweep_matrix.hpp"

#include "protocol/core/sha256.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace chalk::config {

namespace {

constexpr std::uint64_t most_combinations = std::uint64_t{1} << 62U;

/// Which entries of a list of filters still match after the values of some axes are known.
using alive = std::vector<bool>;

bool any(const alive& entries) {
    return std::find(entries.begin(), entries.end(), true) != entries.end();
}

/// Walks the axes from the first to the last and takes whole blocks of combinations at a time: those whose fate is
/// decided by the values so far.
class filter_walk {
  public:
    filter_walk(const std::vector<sweep_filter>& include, const std::vector<sweep_filter>& exclude, std::size_t axes)
        : include_(include), exclude_(exclude), axes_(axes) {}

    struct state {
        alive include;
        alive exclude;
        friend auto operator<=>(const state&, const state&) = default;
    };
    enum class fate { kept, dropped, open };

    [[nodiscard]] state start() const { return {alive(include_.size(), true), alive(exclude_.size(), true)}; }

    [[nodiscard]] state after(const state& before, std::size_t axis, std::size_t value) const {
        auto next = before;
        const auto narrow = [&](alive& entries, const std::vector<sweep_filter>& filters) {
            for (std::size_t i = 0; i < filters.size(); ++i) {
                const auto& allowed = filters[i].allowed[axis];
                entries[i] = entries[i] && (!allowed || (*allowed)[value]);
            }
        };
        narrow(next.include, include_);
        narrow(next.exclude, exclude_);
        return next;
    }

    /// Of all combinations that begin with the values of the first `depth` axes.
    [[nodiscard]] fate decide(const state& now, std::size_t depth) const {
        if (matches_whatever_follows(now.exclude, exclude_, depth) || (!include_.empty() && !any(now.include))) {
            return fate::dropped;
        }
        const bool included = include_.empty() || matches_whatever_follows(now.include, include_, depth);
        return included && !any(now.exclude) ? fate::kept : fate::open;
    }

  private:
    [[nodiscard]] bool matches_whatever_follows(const alive& entries, const std::vector<sweep_filter>& filters,
                                                std::size_t depth) const {
        for (std::size_t i = 0; i < filters.size(); ++i) {
            const auto& allowed = filters[i].allowed;
            const auto first = allowed.begin() + static_cast<std::ptrdiff_t>(depth);
            if (entries[i] && std::none_of(first, allowed.begin() + static_cast<std::ptrdiff_t>(axes_),
                                           [](const auto& of_axis) { return of_axis.has_value(); })) {
                return true;
            }
        }
        return false;
    }

    const std::vector<sweep_filter>& include_;
    const std::vector<sweep_filter>& exclude_;
    std::size_t axes_;
};

/// "model=openai/x"; a value that would blur the line is written as JSON, a long one is cut.
std::string label_of(const std::string& key, const json& value) {
    constexpr std::size_t longest = 60;
    auto text = value.is_string() ? value.get<std::string>() : dump_json(value);
    const bool plain = !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) <= 0x20 || c == '"' || c == '=' || c == '\x7f';
    });
    if (value.is_string() && !plain) {
        text = dump_json(value);
    }
    return fmt::format("{}={}", key, text.size() <= longest ? text : shortened(text, longest));
}

} // namespace

std::string shortened(const std::string& text, std::size_t longest) {
    if (text.size() <= longest) {
        return text;
    }
    auto end = longest - 3;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80U) { // not inside a character
        --end;
    }
    return text.substr(0, end) + "...";
}

result<sweep_matrix> sweep_matrix::make(std::vector<sweep_axis> axes, std::vector<sweep_filter> include,
                                        std::vector<sweep_filter> exclude) {
    sweep_matrix made;
    made.axes_ = std::move(axes);
    made.include_ = std::move(include);
    made.exclude_ = std::move(exclude);
    made.block_.assign(made.axes_.size() + 1, 1);
    for (auto i = made.axes_.size(); i-- > 0;) {
        const auto values = made.axes_[i].values.size();
        if (values != 0 && made.block_[i + 1] > most_combinations / values) {
            return config_failure("the axes have more than 2^62 combinations");
        }
        made.block_[i] = made.block_[i + 1] * values;
    }
    made.combinations_ = made.block_.front();
    return made;
}

std::vector<std::size_t> sweep_matrix::indices_of(std::uint64_t number) const {
    std::vector<std::size_t> indices(axes_.size());
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        indices[i] = number / block_[i + 1] % axes_[i].values.size();
    }
    return indices;
}

std::uint64_t sweep_matrix::count_kept() const {
    if (include_.empty() && exclude_.empty()) {
        return combinations_;
    }
    const filter_walk walk(include_, exclude_, axes_.size());
    // Values that no filter tells apart lead to the same state, which is counted once.
    std::map<filter_walk::state, std::uint64_t> states = {{walk.start(), 1}};
    std::uint64_t kept = 0;
    for (std::size_t depth = 0; !states.empty(); ++depth) {
        std::map<filter_walk::state, std::uint64_t> next;
        for (const auto& [state, ways] : states) {
            const auto fate = walk.decide(state, depth);
            if (fate == filter_walk::fate::kept) {
                kept += ways * block_[depth];
            }
            for (std::size_t value = 0; fate == filter_walk::fate::open && value < axes_[depth].values.size();
                 ++value) {
                next[walk.after(state, depth, value)] += ways;
            }
        }
        states = std::move(next);
    }
    return kept;
}

bool sweep_matrix::keeps(std::uint64_t number) const {
    return number < combinations_ && next_kept(number) == number;
}

std::optional<std::uint64_t> sweep_matrix::next_kept(std::uint64_t from) const {
    if (include_.empty() && exclude_.empty()) {
        return from < combinations_ ? std::optional(from) : std::nullopt;
    }
    const filter_walk walk(include_, exclude_, axes_.size());
    while (from < combinations_) {
        // Down to the first axis whose value decides the fate of `from`; a block that is dropped is left in one step.
        auto state = walk.start();
        const auto indices = indices_of(from);
        std::size_t depth = 0;
        auto fate = walk.decide(state, depth);
        while (fate == filter_walk::fate::open) {
            state = walk.after(state, depth, indices[depth]);
            ++depth;
            fate = walk.decide(state, depth);
        }
        if (fate == filter_walk::fate::kept) {
            return from;
        }
        from = (from / block_[depth] + 1) * block_[depth];
    }
    return std::nullopt;
}

cell_values sweep_matrix::at(std::uint64_t number) const {
    cell_values cell;
    cell.number = number;
    cell.indices = indices_of(number);
    cell.assignment = json::object();
    constexpr std::size_t longest_label = 120;
    for (std::size_t i = 0; i < axes_.size(); ++i) {
        for (const auto& [key, value] : axes_[i].values[cell.indices[i]].items()) {
            cell.assignment[key] = value;
            cell.label += (cell.label.empty() ? "" : " ") + label_of(key, value);
        }
    }
    constexpr std::size_t id_digits = 16;
    cell.id = sha256_hex(dump_json(cell.assignment)).substr(0, id_digits);
    cell.label = cell.label.empty() ? "base" : shortened(cell.label, longest_label);
    return cell;
}

} // namespace chalk::config
