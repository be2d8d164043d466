/// Intervals at 95 %. Formulas: docs/reference/sweep-results.md.
#pragma once

#include "protocol/statistics/exact_number.hpp"

#include <cstdint>
#include <optional>
#include <string_view>

namespace chalk::statistics {

struct interval {
    double low = 0;
    double high = 0;
    std::string_view method; ///< "student_t", "student_t_clustered", "wilson", "welch", "newcombe"
};

/// The two-sided 95 % point of the standard normal distribution.
inline constexpr double normal_95 = 1.959963984540054;

/// The two-sided 95 % point of Student's t with `freedom` >= 1 degrees: 12.706 for 1, towards normal_95. To 1e-9.
[[nodiscard]] double student_t_95(std::uint64_t freedom);

/// Count, sum and sum of squares of values, without rounding.
struct moments {
    std::uint64_t count = 0;
    exact_number sum;
    exact_number squares;

    void add(double value);
    void add(const moments& other);
    [[nodiscard]] std::optional<double> mean() const;
    /// Of the sample (count - 1); absent below two values.
    [[nodiscard]] std::optional<double> variance() const;
};

/// Of the mean of independent values; absent below two.
[[nodiscard]] std::optional<interval> student_t(const moments& values);

/// Of a rate of `hits` among `count` independent tries; absent for none.
[[nodiscard]] std::optional<interval> wilson(std::uint64_t hits, std::uint64_t count);

/// Of the mean over all values where those of one cluster (cell) are not independent of each other. Fed cluster by
/// cluster, in any order.
class clustered_mean {
  public:
    void add_cluster(const moments& values);

    /// Absent below two clusters that have values.
    [[nodiscard]] std::optional<interval> student_t() const;
    [[nodiscard]] std::optional<double> mean() const;
    [[nodiscard]] std::uint64_t clusters() const noexcept { return clusters_; }

  private:
    std::uint64_t clusters_ = 0;
    std::uint64_t count_ = 0;
    exact_number sum_;
    exact_number sum_squares_;   // of clusters' sums, squared
    exact_number count_sum_;     // of clusters' counts times sums
    exact_number count_squares_; // of clusters' counts, squared
};

/// Of b's mean minus a's (unequal variances; the degrees of freedom are rounded down). Absent where either has fewer
/// than two values.
[[nodiscard]] std::optional<interval> welch(const moments& a, const moments& b);

/// Of b's rate minus a's (Newcombe 1998, method 10). Absent where either had no try.
[[nodiscard]] std::optional<interval> newcombe(std::uint64_t hits_a, std::uint64_t count_a, std::uint64_t hits_b,
                                               std::uint64_t count_b);

} // namespace chalk::statistics
