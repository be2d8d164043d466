/// Two sweeps, cell by cell: how far their scores and pass rates lie apart, with intervals. Cells are the same by their
/// ids. Pure.
#pragma once

#include "protocol/core/json_text.hpp"
#include "protocol/statistics/interval.hpp"

#include <optional>
#include <string>
#include <vector>

namespace chalk::statistics {

/// What a comparison needs of one cell of one sweep.
struct cell_side {
    std::string id; ///< what cells are compared by
    std::string label;
    std::string config_digest;
    std::string environment_digest;
    std::string image_digest;
    moments scores;
    std::uint64_t passed = 0;
    std::uint64_t judged = 0;
};

/// b's value minus a's.
struct difference {
    std::optional<double> a;
    std::optional<double> b;
    std::optional<double> value; ///< where both have one
    std::optional<interval> range;
};

struct cell_comparison {
    cell_side a;
    cell_side b;
    difference score;
    difference pass_rate;
};

struct sweep_comparison {
    std::vector<cell_comparison> cells; ///< in a's order
    std::vector<cell_side> only_in_a;
    std::vector<cell_side> only_in_b;
    /// Mean of the cells' differences, over the cells that have one; the interval is Student's t over them ("paired").
    difference score;
    difference pass_rate;
    std::uint64_t scored_cells = 0;
    std::uint64_t judged_cells = 0;
};

[[nodiscard]] sweep_comparison compare(std::vector<cell_side> a, std::vector<cell_side> b);

/// A key whose value differs; absent on the side that has none.
struct key_difference {
    std::string key; ///< dotted; a list is one value
    std::optional<json> a;
    std::optional<json> b;
};

/// In the order of their keys.
[[nodiscard]] std::vector<key_difference> differing_keys(const json& a, const json& b);

} // namespace chalk::statistics
