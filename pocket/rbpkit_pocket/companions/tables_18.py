"""What notebook 18 (how sure is a line) reads: the pocket models, or a reader's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import Array, fit_power_law, fit_rbp_law, minus_log
from rbpkit.stats.curves import models_of
from rbpkit.summary import Summary, resample
from rbpkit_pocket.companions.choices import Study
from rbpkit_pocket.companions.choices import read_study as read_study


def _families(study: Study) -> Iterator[tuple[str, str, list[Summary]]]:
    """Text, family and models of what is shown."""
    for corpus in study.corpora:
        for family in study.families:
            yield corpus, family, models_of(study.summaries, corpus, family)


def read_losses(study: Study, ks: Sequence[int]) -> pd.DataFrame:
    """-log RBP_k of the pocket models, or of the reader's: as `plots.curve_points`.

    Says what was not measured. An RBP of 1 or 0 has no place on a line, and is left out.
    """
    mine = "pocket" if study.ours == "pocket models" else "yours"
    rows, absent = [], []
    for corpus, family, models in _families(study):
        if not models:
            absent.append(f"{family} on {corpus}")
        for one in models:
            about = (mine, corpus, family, one.manifest.model, one.manifest.S)
            rows += [(*about, f"RBP_{k}", float(minus_log(np.array(one.rbp(k))))) for k in ks]
    if absent:
        print(f"Not measured: {', '.join(absent)}.")
    columns = ["source", "corpus", "family", "model", "S", "quantity", "loss"]
    table = pd.DataFrame(rows, columns=columns).astype({"loss": float, "S": float})
    return table[(table.loss > 0) & np.isfinite(table.loss)]


def long_enough(
    losses: pd.DataFrame,
    keys: Sequence[str],
    series_of: Callable[[pd.DataFrame], pd.DataFrame] = lambda points: points,
    say: bool = True,
) -> dict[tuple[str, ...], pd.DataFrame]:
    """The series, by rising S, of each group with four models or more through which a line goes."""
    found, too_few = {}, []
    for key, points in losses.groupby(list(keys), sort=False):
        series = series_of(points).sort_values("S")[["S", "model", "loss"]]
        try:
            fit_power_law(series.S[:3], series.loss[:3])
        except InputError:
            series = series[:0]
        if len(series) >= 4:
            found[key] = series
        else:
            too_few.append(f"{key[1]} ({key[0]})")
    if too_few and say:
        names = ", ".join(too_few)
        print(f"Fewer than four sizes with a line, so nothing to predict: {names}.")
    return found


def resampled(study: Study, ks: Sequence[int]) -> Iterator[tuple[str, Array, Array, Array]]:
    """Family, S, RBP_k, and (draws, n) -log RBP_k on resampled modules, of each text and k.

    Without those to which no line can be fitted.
    """
    for _, family, models in _families(study):
        S = np.array([one.manifest.S for one in models], dtype=float)
        for k in ks:
            shares = np.array([one.rbp(k) for one in models])
            try:
                fit_rbp_law(S, shares)
                draws = resample(models, [k]).loss[:, :, 0]
            except InputError:
                continue
            yield family, S, shares, draws
