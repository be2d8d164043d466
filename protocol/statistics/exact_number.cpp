#include "protocol/statistics/exact_number.hpp"

#include <cmath>
#include <utility>

namespace chalk::statistics {

namespace {

struct sum_and_error {
    double sum;
    double error; ///< what rounding took: a + b == sum + error
};

/// Needs |a| >= |b|.
sum_and_error fast_two_sum(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

} // namespace

void exact_number::add(double value) {
    std::size_t kept = 0;
    for (const double part : parts_) {
        const bool larger = std::abs(value) >= std::abs(part);
        const auto [sum, error] = larger ? fast_two_sum(value, part) : fast_two_sum(part, value);
        if (error != 0) {
            parts_[kept++] = error;
        }
        value = sum;
    }
    parts_.resize(kept);
    if (value != 0) {
        parts_.push_back(value);
    }
}

void exact_number::add(const exact_number& other) {
    for (const double part : std::vector<double>(other.parts_)) { // a copy: `other` may be this one
        add(part);
    }
}

exact_number exact_number::operator*(const exact_number& other) const {
    exact_number product;
    for (const double a : parts_) {
        for (const double b : other.parts_) {
            const double rounded_product = a * b;
            product.add(std::fma(a, b, -rounded_product));
            product.add(rounded_product);
        }
    }
    return product;
}

exact_number exact_number::operator-() const {
    exact_number negative;
    negative.parts_ = parts_;
    for (double& part : negative.parts_) {
        part = -part;
    }
    return negative;
}

double exact_number::rounded() const {
    if (parts_.empty()) {
        return 0;
    }
    // From the largest part down, until something is left over.
    auto at = parts_.size() - 1;
    double high = parts_[at];
    double low = 0;
    while (at > 0 && low == 0) {
        const auto [sum, error] = fast_two_sum(high, parts_[--at]);
        high = sum;
        low = error;
    }
    // What is left over is half a unit and went to even: the next part says to which side it belongs.
    if (low != 0 && at > 0 && (low < 0) == (parts_[at - 1] < 0)) {
        const double twice = low * 2;
        const double candidate = high + twice;
        if (candidate - high == twice) {
            high = candidate;
        }
    }
    return high;
}

} // namespace chalk::statistics
