"""How far a fitted law can be trusted: what a note beside its numbers says."""

from __future__ import annotations

import numpy as np

from rbpkit.errors import InputError

FEW_MODELS = 5  # fewer hardly show that a line is straight
FEW_UNITS = 15  # a 95% bootstrap interval of 2, 3, 5, 8 documents covers 52, 76, 84, 88%


def misses_needed(alpha: float, S: np.ndarray, r2: float = 0.9) -> float:
    """Misses of each model below which sampling alone brings R2 of the line under `r2`.

    A line of slope -alpha at the sizes S (n,) explains alpha^2 sum (ln S - mean)^2; n models with
    m misses each leave about (n - 2) / m, tokens taken for independent. So
    m = (n - 2) r2 / ((1 - r2) alpha^2 sum (ln S - mean)^2). Raises InputError for fewer than three
    sizes, an alpha of 0 and an r2 outside (0, 1).
    """
    log_S = np.log(np.asarray(S, float))
    if log_S.size < 3 or not alpha or not 0 < r2 < 1 or not np.ptp(log_S):
        raise InputError("misses needed: give three sizes, an exponent and an R2 in (0, 1)")
    explained = alpha**2 * ((log_S - log_S.mean()) ** 2).sum()
    return float((log_S.size - 2) * r2 / ((1 - r2) * explained))


def few_units(units: int) -> str:
    """A note if intervals for other documents rest on too few documents (or units), else ""."""
    return f"few documents or units ({units})" if units < FEW_UNITS else ""


def doubts(
    S: np.ndarray,
    alpha_interval: tuple[float, float],
    misses: np.ndarray | None = None,
    units: int | None = None,
) -> str:
    """Why a law fitted to models of the sizes S (n,) may not be trusted; "" if nothing is known.

    alpha_interval: of its exponent; the middle of it is the exponent. misses: (n,) tokens that each
    model misses at this k, None if they are not counted. units: of documents, None if not known.
    """
    low, high = alpha_interval
    notes = []
    if low <= 0:
        notes.append("alpha may be 0" if high >= 0 else "alpha is below 0")
    elif misses is not None:
        needed = misses_needed((low + high) / 2, S)
        # Half a miss in the place of none: the harmonic mean stays finite.
        mean = 1 / np.mean(1 / np.maximum(misses, 0.5))
        if mean < needed:
            notes.append(f"few misses ({mean:,.0f} of {needed:,.0f})")
    if len(S) < FEW_MODELS:
        notes.append(f"few models ({len(S)})")
    if units is not None and few_units(units):
        notes.append(few_units(units))
    return "; ".join(notes)
