"""A sweep's figures by plain Python, from transcripts and what else is known of the runs.

Written from docs/reference/sweep-results.md and not from chalk's sources: sums by fsum, squares by Fraction.
"""

import math
from fractions import Fraction

Z = 1.959963984540054


def two_sided(t, freedom):
    """P(|T| < t), by the closed form for whole degrees of freedom."""
    cos2 = freedom / (freedom + t * t)
    sine = t / math.sqrt(freedom + t * t)
    odd = freedom % 2 == 1
    term = math.sqrt(cos2) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for i in range(3 if odd else 2, freedom - 1, 2):
        term *= cos2 * ((i - 1) / i)
        total += term
    return 2 / math.pi * (math.atan(t / math.sqrt(freedom)) + sine * total) if odd else sine * total


def student_t(freedom):
    """The point with 95 % inside, to the last bit, by halving."""
    low, high = 0.0, 13.0
    while True:
        middle = (low + high) / 2
        if middle <= low or middle >= high:
            return high
        if two_sided(middle, freedom) < 0.95:
            low = middle
        else:
            high = middle


def mean(values):
    return math.fsum(values) / len(values) if values else None


def variance(values):
    n = len(values)
    exact = [Fraction(v) for v in values]
    return float(n * sum(v * v for v in exact) - sum(exact) ** 2) / (n * (n - 1))


def around(middle, half, method):
    return {"low": middle - half, "high": middle + half, "method": method}


def mean_interval(values):
    if len(values) < 2:
        return None
    half = student_t(len(values) - 1) * math.sqrt(variance(values) / len(values))
    return around(mean(values), half, "student_t")


def clustered_interval(clusters):
    """Of the mean over all values, the clusters (lists of values) being what varies."""
    clusters = [c for c in clusters if c]
    m, n = len(clusters), sum(map(len, clusters))
    if m < 2:
        return None
    total = sum(Fraction(v) for c in clusters for v in c)
    residuals = float(sum((n * sum(map(Fraction, c)) - len(c) * total) ** 2 for c in clusters))
    error = math.sqrt(residuals * (m / (m - 1))) / (float(n) * float(n))
    return around(mean([v for c in clusters for v in c]), student_t(m - 1) * error, "student_t_clustered")


def wilson_ends(hits, count):
    z2 = Z * Z
    p = hits / count
    middle = (p + z2 / (2 * count)) / (1 + z2 / count)
    half = Z * math.sqrt(p * (1 - p) / count + z2 / (4 * count * count)) / (1 + z2 / count)
    return (0.0 if hits == 0 else middle - half, 1.0 if hits == count else middle + half)


def wilson(hits, count):
    if count == 0:
        return None
    low, high = wilson_ends(hits, count)
    return {"low": low, "high": high, "method": "wilson"}


def welch(a, b):
    if len(a) < 2 or len(b) < 2:
        return None
    ea, eb = variance(a) / len(a), variance(b) / len(b)
    if ea + eb == 0:
        return around(mean(b) - mean(a), 0, "welch")
    freedom = (ea + eb) * (ea + eb) / (ea * ea / (len(a) - 1) + eb * eb / (len(b) - 1))
    return around(mean(b) - mean(a), student_t(max(1, int(freedom))) * math.sqrt(ea + eb), "welch")


def newcombe(hits_a, count_a, hits_b, count_b):
    if count_a == 0 or count_b == 0:
        return None
    a, b = hits_a / count_a, hits_b / count_b
    low_a, high_a = wilson_ends(hits_a, count_a)
    low_b, high_b = wilson_ends(hits_b, count_b)

    def length(x, y):
        return math.sqrt(x * x + y * y)

    return {"low": b - a - length(b - low_b, high_a - a), "high": b - a + length(high_b - b, a - low_a),
            "method": "newcombe"}


def ratio(of, n, k):
    """C(of, k) / C(n, k)"""
    product = 1.0
    for i in range(k):
        if of - i <= 0:
            return 0.0
        product *= (of - i) / (n - i)
    return product


def pass_figures(cells, repeats):
    """`cells`: (judged, passed) each; for no more than 10 repeats."""
    figures = []
    for k in range(1, repeats + 1):
        able = [(n, c) for n, c in cells if n >= k]
        if able:
            figures.append({
                "k": k, "cells": len(able),
                "pass_at_k": math.fsum(1 - ratio(n - c, n, k) for n, c in able) / len(able),
                "pass_hat_k": math.fsum(ratio(c, n, k) for n, c in able) / len(able),
            })
    return figures


def rank(values, percent):
    ordered = sorted(values)
    return ordered[-(-percent * len(ordered) // 100) - 1]


def stages(took):
    figures = {}
    for stage in ("prepare", "setup", "agent", "score", "teardown", "whole"):
        values = [t[stage] for t in took if t.get(stage) is not None]
        figures[stage] = values and {"count": len(values), "p50_ms": rank(values, 50), "p95_ms": rank(values, 95)} or None
    return figures
