#include "protocol/statistics/compare.hpp"

#include <map>
#include <unordered_map>
#include <utility>

namespace chalk::statistics {

namespace {

std::optional<double> rate(const cell_side& side) {
    return side.judged == 0 ? std::nullopt
                            : std::optional(static_cast<double>(side.passed) / static_cast<double>(side.judged));
}

std::optional<double> minus(const std::optional<double>& b, const std::optional<double>& a) {
    return a && b ? std::optional(*b - *a) : std::nullopt;
}

difference apart(std::optional<double> a, std::optional<double> b, std::optional<interval> range) {
    return {a, b, minus(b, a), range};
}

/// Means over the cells that have both values, so that the sides' means and that of the differences are of the same
/// cells.
struct paired {
    moments a;
    moments b;
    moments differences;

    void add(const difference& one) {
        if (one.value) {
            a.add(*one.a);
            b.add(*one.b);
            differences.add(*one.value);
        }
    }
    [[nodiscard]] difference result() const {
        auto range = student_t(differences);
        if (range) {
            range->method = "student_t_paired";
        }
        return {a.mean(), b.mean(), differences.mean(), range};
    }
};

void flatten(const json& value, const std::string& prefix, std::map<std::string, json>& into) {
    if (!value.is_object() || value.empty()) {
        into[prefix] = value;
        return;
    }
    for (const auto& [key, inner] : value.items()) {
        flatten(inner, prefix.empty() ? key : prefix + "." + key, into);
    }
}

} // namespace

sweep_comparison compare(std::vector<cell_side> a, std::vector<cell_side> b) {
    sweep_comparison all;
    std::unordered_map<std::string, std::size_t> places;
    for (std::size_t i = 0; i < b.size(); ++i) {
        places.emplace(b[i].id, i);
    }
    paired scores;
    paired rates;
    std::vector<bool> matched(b.size(), false);
    for (auto& left : a) {
        const auto place = places.find(left.id);
        if (place == places.end()) {
            all.only_in_a.push_back(std::move(left));
            continue;
        }
        matched[place->second] = true;
        auto& right = b[place->second];
        cell_comparison cell;
        cell.score = apart(left.scores.mean(), right.scores.mean(), welch(left.scores, right.scores));
        cell.pass_rate = apart(rate(left), rate(right), newcombe(left.passed, left.judged, right.passed, right.judged));
        scores.add(cell.score);
        rates.add(cell.pass_rate);
        cell.a = std::move(left);
        cell.b = std::move(right);
        all.cells.push_back(std::move(cell));
    }
    for (std::size_t i = 0; i < b.size(); ++i) {
        if (!matched[i]) {
            all.only_in_b.push_back(std::move(b[i]));
        }
    }
    all.score = scores.result();
    all.pass_rate = rates.result();
    all.scored_cells = scores.differences.count;
    all.judged_cells = rates.differences.count;
    return all;
}

std::vector<key_difference> differing_keys(const json& a, const json& b) {
    std::map<std::string, json> left;
    std::map<std::string, json> right;
    flatten(a, {}, left);
    flatten(b, {}, right);
    std::map<std::string, key_difference> found;
    for (const auto& [key, value] : left) {
        const auto other = right.find(key);
        if (other == right.end() || other->second != value) {
            found[key] = {key, value, other == right.end() ? std::nullopt : std::optional(other->second)};
        }
    }
    for (const auto& [key, value] : right) {
        if (left.count(key) == 0) {
            found[key] = {key, std::nullopt, value};
        }
    }
    std::vector<key_difference> all;
    for (auto& [key, one] : found) {
        all.push_back(std::move(one));
    }
    return all;
}

} // namespace chalk::statistics
