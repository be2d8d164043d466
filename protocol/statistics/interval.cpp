#include "protocol/statistics/interval.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace chalk::statistics {

namespace {

double as_double(std::uint64_t count) {
    return static_cast<double>(count);
}

exact_number exact(std::uint64_t count) {
    return exact_number(as_double(count)); // counts stay below 2^53
}

/// P(|T| < t) for T with `freedom` degrees (Abramowitz and Stegun 26.7.3 and 26.7.4).
double two_sided_probability(double t, std::uint64_t freedom) {
    const double nu = as_double(freedom);
    const double cos_squared = nu / (nu + t * t);
    const double sine = t / std::sqrt(nu + t * t);
    const bool odd = freedom % 2 == 1;
    double term = odd ? std::sqrt(cos_squared) : 1.0;
    double sum = freedom == 1 ? 0.0 : term;
    for (std::uint64_t i = odd ? 3 : 2; i + 2 <= freedom; i += 2) {
        const double at = as_double(i);
        term *= cos_squared * ((at - 1) / at);
        sum += term;
    }
    return odd ? 2 / std::numbers::pi * (std::atan(t / std::sqrt(nu)) + sine * sum) : sine * sum;
}

/// Above this many degrees the first four terms of the expansion about the normal distribution are right to 1e-12.
constexpr std::uint64_t most_exact_freedom = 1000;

double expanded_t(double nu) { // Abramowitz and Stegun 26.7.5
    constexpr double z = normal_95;
    constexpr double z2 = z * z;
    const double g1 = (z2 + 1) * z / 4;
    const double g2 = ((5 * z2 + 16) * z2 + 3) * z / 96;
    const double g3 = (((3 * z2 + 19) * z2 + 17) * z2 - 15) * z / 384;
    const double g4 = ((((79 * z2 + 776) * z2 + 1482) * z2 - 1920) * z2 - 945) * z / 92160;
    return z + (g1 + (g2 + (g3 + g4 / nu) / nu) / nu) / nu;
}

interval around(double middle, double half, std::string_view method) {
    return {middle - half, middle + half, method};
}

/// The ends of Wilson's interval.
std::pair<double, double> wilson_ends(std::uint64_t hits, std::uint64_t count) {
    constexpr double z2 = normal_95 * normal_95;
    const double n = as_double(count);
    const double p = as_double(hits) / n;
    const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
    const double half = normal_95 * std::sqrt(p * (1 - p) / n + z2 / (4 * n * n)) / (1 + z2 / n);
    // At the edges the formula is exact on paper and rounds in practice.
    return {hits == 0 ? 0.0 : middle - half, hits == count ? 1.0 : middle + half};
}

} // namespace

double student_t_95(std::uint64_t freedom) {
    if (freedom > most_exact_freedom) {
        return expanded_t(as_double(freedom));
    }
    double low = 0;
    double high = 13; // one degree has 12.7
    while (true) {
        const double middle = (low + high) / 2;
        if (middle <= low || middle >= high) {
            return high;
        }
        (two_sided_probability(middle, freedom) < 0.95 ? low : high) = middle;
    }
}

void moments::add(double value) {
    const exact_number one(value);
    ++count;
    sum.add(one);
    squares.add(one * one);
}

void moments::add(const moments& other) {
    count += other.count;
    sum.add(other.sum);
    squares.add(other.squares);
}

std::optional<double> moments::mean() const {
    return count == 0 ? std::nullopt : std::optional(sum.rounded() / as_double(count));
}

std::optional<double> moments::variance() const {
    if (count < 2) {
        return std::nullopt;
    }
    const auto n = as_double(count);
    return (exact(count) * squares - sum * sum).rounded() / (n * (n - 1));
}

std::optional<interval> student_t(const moments& values) {
    const auto variance = values.variance();
    if (!variance) {
        return std::nullopt;
    }
    const double half = student_t_95(values.count - 1) * std::sqrt(*variance / as_double(values.count));
    return around(*values.mean(), half, "student_t");
}

std::optional<interval> wilson(std::uint64_t hits, std::uint64_t count) {
    if (count == 0) {
        return std::nullopt;
    }
    const auto [low, high] = wilson_ends(hits, count);
    return interval{low, high, "wilson"};
}

void clustered_mean::add_cluster(const moments& values) {
    if (values.count == 0) {
        return;
    }
    const auto n = exact(values.count);
    ++clusters_;
    count_ += values.count;
    sum_.add(values.sum);
    sum_squares_.add(values.sum * values.sum);
    count_sum_.add(n * values.sum);
    count_squares_.add(n * n);
}

std::optional<double> clustered_mean::mean() const {
    return count_ == 0 ? std::nullopt : std::optional(sum_.rounded() / as_double(count_));
}

std::optional<interval> clustered_mean::student_t() const {
    if (clusters_ < 2) {
        return std::nullopt;
    }
    // With N values, sum S, and n and s those of a cluster: the sum of (N s - n S)^2 over the clusters is N^4 times the
    // sum of the squared residuals of the clusters' sums, over N^2.
    const auto n = exact(count_);
    const auto twice = exact(2);
    const auto residuals = n * n * sum_squares_ - twice * n * sum_ * count_sum_ + sum_ * sum_ * count_squares_;
    const double m = as_double(clusters_);
    const double total = as_double(count_);
    const double error = std::sqrt(residuals.rounded() * (m / (m - 1))) / (total * total);
    return around(*mean(), student_t_95(clusters_ - 1) * error, "student_t_clustered");
}

std::optional<interval> welch(const moments& a, const moments& b) {
    const auto variance_a = a.variance();
    const auto variance_b = b.variance();
    if (!variance_a || !variance_b) {
        return std::nullopt;
    }
    const double ea = *variance_a / as_double(a.count);
    const double eb = *variance_b / as_double(b.count);
    const double difference = *b.mean() - *a.mean();
    if (ea + eb == 0) {
        return around(difference, 0, "welch");
    }
    const double freedom =
        (ea + eb) * (ea + eb) / (ea * ea / as_double(a.count - 1) + eb * eb / as_double(b.count - 1));
    const auto whole = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(freedom));
    return around(difference, student_t_95(whole) * std::sqrt(ea + eb), "welch");
}

std::optional<interval> newcombe(std::uint64_t hits_a, std::uint64_t count_a, std::uint64_t hits_b,
                                 std::uint64_t count_b) {
    if (count_a == 0 || count_b == 0) {
        return std::nullopt;
    }
    const double a = as_double(hits_a) / as_double(count_a);
    const double b = as_double(hits_b) / as_double(count_b);
    const auto [low_a, high_a] = wilson_ends(hits_a, count_a);
    const auto [low_b, high_b] = wilson_ends(hits_b, count_b);
    const auto length = [](double x, double y) { return std::sqrt(x * x + y * y); };
    return interval{b - a - length(b - low_b, high_a - a), b - a + length(high_b - b, a - low_a), "newcombe"};
}

} // namespace chalk::statistics
