"""Missed tokens: those that a model ranks past k, counted (Section 4.3).

1 - RBP_k is the share of missed tokens. Near k = V a model misses a few hundred tokens of a corpus
or a few dozen, so the counts say how far chance alone moves a point.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import binomtest

from rbpkit import paper
from rbpkit.errors import InputError
from rbpkit.fit import Curve, Measured
from rbpkit.stats.curves import models_of

# Published values carry six decimals: half a unit of the last, and a little for binary fractions.
HALF_DIGIT = 0.5e-6 * 1.01


def k_at_share(k: int, V: int, of: int = paper.PAPER_V) -> int:
    """The k that is the same share of V as `k` is of `of`: max(1, floor(k V / of + 1/2)).

    Raises InputError unless all three are whole numbers of at least 1.
    """
    for name, value in (("k", k), ("V", V), ("of", of)):
        if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
            raise InputError(f"{name} must be a whole number of at least 1, not {value!r}")
    return max(1, (2 * int(k) * int(V) + int(of)) // (2 * int(of)))


@dataclass(frozen=True, eq=False)
class Misses:
    """How many of `tokens` (n,) scored tokens each model of `curve` ranked past k: `missed` (n,).

    Both int64, in the order of the curve's S. 1 - RBP_k = missed / tokens.
    """

    curve: Curve
    tokens: np.ndarray
    missed: np.ndarray

    @classmethod
    def of(cls, curve: Curve, tokens: np.ndarray | Sequence[int]) -> Misses:
        """The counts behind the RBP of a curve, given its tokens.

        Raises InputError where a value is no multiple of 1 / tokens to six decimals.
        """
        tokens = np.asarray(tokens, dtype=np.int64)
        if tokens.shape != curve.value.shape or (tokens.size and tokens.min() < 1):
            raise InputError(
                f"{_name(curve)}: give one count of tokens, at least 1, for each model"
            )
        exact = (1 - curve.value) * tokens
        missed = np.rint(exact)
        wrong = np.flatnonzero(np.abs(exact - missed) > np.minimum(HALF_DIGIT * tokens, 0.5))
        if wrong.size:
            worst = int(wrong[0])
            raise InputError(
                f"{_name(curve)}: {curve.value[worst]:.6f} of {curve.models[worst]} is no share of"
                f" {tokens[worst]} tokens; give the tokens that were scored"
            )
        return cls(curve, tokens, missed.astype(np.int64))

    def interval(self, level: float = 0.95) -> tuple[np.ndarray, np.ndarray]:
        """Ends (n,), (n,) of an exact binomial interval (Clopper and Pearson) of missed / tokens.

        It takes tokens for independent, which those of one document are not quite.
        """
        ends = [
            binomtest(int(x), int(n)).proportion_ci(level, "exact")
            for x, n in zip(self.missed, self.tokens, strict=True)
        ]
        return np.array([one.low for one in ends]), np.array([one.high for one in ends])


def published_misses(curve: Curve) -> Misses:
    """The counts behind a published curve, by `paper.token_counts` (inferred from the digits)."""
    table = paper.token_counts()
    row = table[(table["dataset"] == curve.corpus) & (table["family"] == curve.family)]
    if row.empty:
        raise InputError(f"{_name(curve)}: the number of its tokens is not known")
    return Misses.of(curve, np.full(curve.value.size, row["tokens"].iloc[0]))


def measured_misses(measured: Iterable[Measured], curve: Curve) -> Misses:
    """The counts behind a curve that was measured, by the tokens of the manifests."""
    there = models_of(measured, curve.corpus, curve.family)
    tokens = {one.manifest.model: one.manifest.tokens for one in there}
    lost = [model for model in curve.models if model not in tokens]
    if lost:
        raise InputError(f"{_name(curve)}: not measured: {', '.join(lost)}")
    return Misses.of(curve, [tokens[model] for model in curve.models])


def _name(curve: Curve) -> str:
    return f"{curve.family}, {curve.corpus}, {curve.quantity}"
