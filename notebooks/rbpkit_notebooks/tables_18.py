"""What notebook 18 (how sure is a line) reads: the pocket models, or a reader's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product

import numpy as np
import pandas as pd

from rbpkit.errors import InputError
from rbpkit.fit import fit_power_law, minus_log, models_of
from rbpkit_notebooks.choices import Study
from rbpkit_notebooks.choices import read_study as read_study


def read_losses(study: Study, ks: Sequence[int]) -> pd.DataFrame:
    """-log RBP_k of the pocket models, or of the reader's: as `plots.curve_points`.

    Says what was not measured. An RBP of 1 or 0 has no place on a line, and is left out.
    """
    mine = "pocket" if study.ours == "pocket models" else "yours"
    rows, absent = [], []
    for corpus, family in product(study.corpora, study.families):
        models = models_of(study.summaries, corpus, family)
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
    series_of: Callable[[pd.DataFrame], pd.DataFrame],
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
    if too_few:
        names = ", ".join(too_few)
        print(f"Fewer than four sizes with a line, so nothing to predict: {names}.")
    return found
