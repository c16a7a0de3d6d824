#!/usr/bin/env python3
"""Fits the polynomials of elementary.h and exact_math.cc by Remez exchange (needs python3-mpmath) and prints their
coefficients, lowest order first, with the largest weighted error of each."""
from mpmath import mp, mpf, cos, sin, exp, log, erf, erfc, sqrt, pi, matrix, lu_solve, atanh

mp.dps = 50


def remez(function, weight, low, high, degree):
    """Coefficients c minimising max |weight(x) * (sum c_i x^i - function(x))| on [low, high]."""
    count = degree + 2
    nodes = [(low + high) / 2 + (high - low) / 2 * cos(pi * (count - 1 - i) / (count - 1)) for i in range(count)]
    grid = [low + (high - low) * (1 - cos(pi * i / 600)) / 2 for i in range(601)]
    values = [function(x) for x in grid]
    weights = [weight(x) for x in grid]
    for _ in range(12):
        system = matrix(count, count)
        right = matrix(count, 1)
        for row, x in enumerate(nodes):
            for column in range(degree + 1):
                system[row, column] = x ** column
            system[row, degree + 1] = (-1) ** row / weight(x)
            right[row] = function(x)
        solution = lu_solve(system, right)
        coefficients = [solution[i] for i in range(degree + 1)]
        errors = []
        for x, value, w in zip(grid, values, weights):
            total = mpf(0)
            for c in reversed(coefficients):
                total = total * x + c
            errors.append(w * (total - value))
        extrema = []
        for i, error in enumerate(errors):
            if extrema and (errors[extrema[-1]] > 0) == (error > 0):
                if abs(error) > abs(errors[extrema[-1]]):
                    extrema[-1] = i
            else:
                extrema.append(i)
        while len(extrema) > count:
            extrema.pop(0 if abs(errors[extrema[0]]) < abs(errors[extrema[-1]]) else -1)
        if len(extrema) < count:
            break
        nodes = [grid[i] for i in extrema]
    return coefficients, max(abs(e) for e in errors)


def show(name, function, weight, low, high, degree):
    coefficients, error = remez(function, weight, mpf(low), mpf(high), degree)
    print(f"{name}: weighted error {mp.nstr(error, 3)}")
    print("   ", ", ".join(mp.nstr(c, 17) for c in coefficients))


half_ln2 = log(2) / 2 * mpf("1.0001")
tiny = mpf(10) ** -12


def expm1_tail(r):  # (e^r - 1 - r) / r^2
    if abs(r) < mpf("1e-6"):
        return mpf(1) / 2 + r / 6 + r * r / 24
    return (exp(r) - 1 - r) / (r * r)


def in_square(function, at_zero):
    return lambda u: function(sqrt(u)) if u > mpf("1e-16") else at_zero + 0 * u


print("f32")
show("exp tail (e^r - 1 - r) / r^2 in r", expm1_tail, lambda r: abs(r) + tiny, -half_ln2, half_ln2, 4)
show("erf(x) / x in x^2, |x| <= 1", in_square(lambda x: erf(x) / x, 2 / sqrt(pi)), lambda u: 1, 0, "1.0001", 6)
show("log(erfc(y)) in y, 1..4", lambda y: log(erfc(y)), lambda y: erfc(y), 1, 4, 6)
show("log1p: atanh(s) / s in s^2, s <= 1/3", in_square(lambda s: atanh(s) / s, mpf(1)), lambda u: 1, 0, "0.1112", 4)
print("f64")
show("exp tail in r", expm1_tail, lambda r: r * r + tiny, -half_ln2, half_ln2, 10)
show("log: (2 atanh(s) / s - 2) / s^2 in s^2", in_square(lambda s: (2 * atanh(s) / s - 2) / s ** 2, mpf(2) / 3),
     lambda u: u + tiny, 0, "0.02945", 7)
quarter = (pi / 4 * mpf("1.0001")) ** 2
show("sin: (sin(x) - x) / x^3 in x^2", in_square(lambda x: (sin(x) - x) / x ** 3, mpf(-1) / 6), lambda u: u + tiny, 0,
     quarter, 6)
show("cos: (cos(x) - 1 + x^2/2) / x^4 in x^2", in_square(lambda x: (cos(x) - 1 + x * x / 2) / x ** 4, mpf(1) / 24),
     lambda u: u * u + tiny, 0, quarter, 6)
