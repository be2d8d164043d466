/// Sums and products of doubles without rounding, so that a figure does not depend on the order in which runs ended: it
/// is rounded once, at its end, to the nearest double. (Shewchuk, "Adaptive Precision Floating-Point Arithmetic",
/// 1997.)
///
/// Exact while no product of two parts falls below 1e-290 or beyond 1e300: scores and dollars stay far from both.
#pragma once

#include <span>
#include <vector>

namespace chalk::statistics {

class exact_number {
  public:
    exact_number() = default;
    explicit exact_number(double value) { add(value); }

    /// `value` is finite.
    void add(double value);
    void add(const exact_number& other);

    [[nodiscard]] exact_number operator*(const exact_number& other) const;
    [[nodiscard]] exact_number operator-() const;
    friend exact_number operator+(exact_number a, const exact_number& b) {
        a.add(b);
        return a;
    }
    friend exact_number operator-(exact_number a, const exact_number& b) {
        a.add(-b);
        return a;
    }

    /// The nearest double, ties to even: what Python's math.fsum() or float(Fraction) says.
    [[nodiscard]] double rounded() const;

  private:
    std::vector<double> parts_; // non-overlapping, of increasing magnitude
};

} // namespace chalk::statistics
