#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Decimals that are hard to read, with the bits they make, for test_number_*.

    python3 tests/vectors/make_number_cases.py > tests/vectors/number_cases.txt

Each line: a text, the bits of the nearest binary64, and the bits of that
rounded to binary32, in hexadecimal; "-" where it overflows. All is integer
arithmetic on the definition of the formats; floats of Python take no part.
"""
import random
import sys
from fractions import Fraction

DOUBLE = (53, 11)
FLOAT = (24, 8)


def bits_of(value, form):
    """The nearest number's bits, ties to even; None if that overflows."""
    precision, width = form
    bias = 2 ** (width - 1) - 1
    if value == 0:
        return 0
    exponent = value.numerator.bit_length() - value.denominator.bit_length()
    if Fraction(2) ** exponent > value:
        exponent -= 1
    exponent = max(exponent, 1 - bias) - (precision - 1)
    scaled = value / Fraction(2) ** exponent
    m, rest = divmod(scaled.numerator, scaled.denominator)
    twice = 2 * rest - scaled.denominator
    m += twice > 0 or (twice == 0 and m % 2)
    bits = ((exponent + bias + precision - 2) << (precision - 1)) + m
    return None if bits >= (2 * bias + 1) << (precision - 1) else bits


def value_of(bits, form):
    precision, width = form
    biased = bits >> (precision - 1)
    m = bits & (2 ** (precision - 1) - 1)
    if biased:
        m += 2 ** (precision - 1)
    exponent = max(biased, 1) - (2 ** (width - 1) - 1) - (precision - 1)
    return m * Fraction(2) ** exponent


def parse(text):
    mantissa, _, exponent = text.lower().partition("e")
    whole, _, fraction = mantissa.partition(".")
    return (int(whole + fraction)
            * Fraction(10) ** (int(exponent or 0) - len(fraction)))


def exactly(value):
    """A fraction over a power of two as d.ddde+x, all digits."""
    shift = value.denominator.bit_length() - 1
    digits = str(value.numerator * 5 ** shift)
    return scientific(digits.rstrip("0") or "0", len(digits) - 1 - shift)


def scientific(digits, power):
    return f"{digits[0]}.{digits[1:] or '0'}e{power}"


def nudged(text, by):
    """The same a little above or below, in a digit far behind."""
    mantissa, _, exponent = text.partition("e")
    whole, fraction = mantissa.split(".")
    digits = str(int(whole + fraction) * 10 ** 20 + by)
    return scientific(digits, int(exponent))


def first_in(a, m, low, high):
    """Least x >= 0 with low <= a x mod m <= high (Euclid), or None."""
    if low == 0:
        return 0
    a %= m
    if a == 0:
        return None
    if 2 * a > m:
        return first_in(m - a, m, m - high, m - low)
    x = -(-low // a)
    if a * x <= high:
        return x
    y = first_in(-m % a, a, low % a, high % a)
    return None if y is None else -(-(low + m * y) // a)


def nearest_to_half_way(q, digits, form):
    """w of so many digits whose w 10^q is, without being one, as near to the
    midpoint of two neighbours as any: the definition of the hard cases of
    Paxson's test of decimal conversion (1991)."""
    precision = form[0]
    start = 10 ** (digits - 1)
    unit = Fraction(start) * Fraction(10) ** q
    e = unit.numerator.bit_length() - unit.denominator.bit_length()
    ulp = Fraction(2) ** (e + 1 - precision)
    ratio = Fraction(10) ** q / ulp
    a, m = ratio.numerator % ratio.denominator, ratio.denominator
    count = min(9 * start, int(2 * unit / Fraction(10) ** q) - start)
    if m == 1 or count < 1:
        return None
    best, wide = None, m // 4
    while wide > 0:
        low = (m // 2 - wide - a * start) % m
        x = first_in(a, m, low, low + 2 * wide) if low + 2 * wide < m else None
        if x is None or x >= count:
            break
        best, distance = start + x, abs((start + x) * a % m - Fraction(m, 2))
        wide = min(wide // 2, int(distance) - 1)
    return best


def midpoints(form, count):
    precision, width = form
    top = ((2 ** width - 1) << (precision - 1)) - 1
    edges = [0, 1, 2, (1 << (precision - 1)) - 1, 1 << (precision - 1), top,
             top - 1, ((2 ** (width - 1) - 1) << (precision - 1)) - 1]
    for bits in edges + [random.randrange(top) for _ in range(count)]:
        above = (value_of(bits + 1, form) if bits < top
                 else Fraction(2) ** (2 ** (width - 1)))
        yield (value_of(bits, form) + above) / 2


def texts():
    for form, count in ((DOUBLE, 40), (FLOAT, 120)):
        for middle in midpoints(form, count):
            text = exactly(middle)
            yield from (text, nudged(text, 1), nudged(text, -1))
    # Half way between two float32 as far as a binary64 can tell.
    for middle in midpoints(FLOAT, 60):
        bits = bits_of(middle, DOUBLE)
        for other in (bits - 1, bits + 1):
            near = (3 * middle + value_of(other, DOUBLE)) / 4
            yield exactly(near)
    for form, lengths, reach in ((DOUBLE, (1, 5, 10, 15, 17, 19, 20, 25), 300),
                                 (FLOAT, (1, 5, 8, 9, 12), 36)):
        for digits in lengths:
            for q in range(-reach, reach, reach // 12):
                w = nearest_to_half_way(q - digits, digits, form)
                if w:
                    yield f"{w}e{q - digits}"
    # Between one and two units of the least power, and what underflows.
    for text in ("2.4703282292062327208e-324", "2.4703282292062328e-324",
                 "1e-324", "4.9e-324", "1e-400", "0e400", "1e309",
                 "1.7976931348623158e308", "1.7976931348623159e308",
                 "3.4028235677973366e38", "3.4028235677973365e38",
                 "7.038531e-26", "7.0385307e-26"):
        yield text
    yield "1" + "0" * 400 + "e-400"
    yield "0." + "0" * 400 + "1e401"
    yield "9007199254740993." + "0" * 800
    yield "9007199254740993." + "0" * 800 + "1"


def field(bits, width):
    return "-" if bits is None else f"{bits:0{width}x}"


def main():
    random.seed(5)
    for text in texts():
        bits = bits_of(parse(text), DOUBLE)
        single = None
        if bits is not None:
            single = bits_of(value_of(bits, DOUBLE), FLOAT)
        print(text, field(bits, 16), field(single, 8))


if __name__ == "__main__":
    sys.exit(main())
