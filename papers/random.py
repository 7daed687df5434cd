"""The library's random generator, xoshiro256++ (Blackman & Vigna 2019), in plain Python.

A page that draws uses this generator, started from the compiled model's saved state, so that both
draw the same numbers. ``seeded`` fills the state with four SplitMix64 outputs, as the authors
advise.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, log, pi, sin, sqrt, tan

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15  # 2^64 divided by the golden ratio


def rotate(word: int, by: int) -> int:
    return ((word << by) | (word >> (64 - by))) & MASK


class Random:
    """``uniform()`` is in [0, 1) with 53 bits; ``below(n)`` is floor(n uniform())."""

    def __init__(self, words: Sequence[int]) -> None:
        self.words = [int(word) for word in words]

    @classmethod
    def seeded(cls, seed: int) -> Random:
        words, counter = [], seed & MASK
        for _ in range(4):
            counter = (counter + GOLDEN) & MASK
            z = counter
            z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
            z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
            words.append(z ^ (z >> 31))
        return cls(words)

    def next(self) -> int:
        s = self.words
        result = (rotate((s[0] + s[3]) & MASK, 23) + s[0]) & MASK
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotate(s[3], 45)
        return result

    def uniform(self) -> float:
        return (self.next() >> 11) * 2.0**-53

    def below(self, n: int) -> int:
        return int(self.uniform() * n)

    def normal_pair(self) -> tuple[float, float]:
        """Two standard normals from two uniforms (Box & Muller 1958), the cosine one first."""
        radius = sqrt(-2 * log(1 - self.uniform()))
        angle = 2 * pi * self.uniform()
        return radius * cos(angle), radius * sin(angle)

    def cauchy(self) -> float:
        """A standard Cauchy number from one uniform number."""
        return tan(pi * (self.uniform() - 0.5))


def column_generator(seed: int, column: int) -> Random:
    """The generator of one feature: the same whenever and wherever the feature appears."""
    return Random.seeded(seed * GOLDEN + column + 1)
